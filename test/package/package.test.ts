import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { repository } from '../support/built-package.js';
import { installPacked } from '../support/packed-package.js';

/** The environment of programs that npm starts, whatever package manager runs the tests. */
const asNpm = { ...process.env, npm_config_user_agent: 'npm/10.8.2 node/v20.19.0' };

let project = '';
let packed: string[] = [];

/** An empty project with the tarball installed; the dependencies are those of the repository, so no network is needed. */
beforeAll(async () => {
  project = mkdtempSync(path.join(tmpdir(), 'procura-package-'));
  packed = await installPacked(project);
  const installed = path.join(project, 'node_modules', 'procura');
  const { dependencies } = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of [...Object.keys(dependencies), '@types']) {
    mkdirSync(path.dirname(path.join(project, 'node_modules', name)), { recursive: true });
    symlinkSync(path.join(repository, 'node_modules', name), path.join(project, 'node_modules', name));
  }
  writeFileSync(path.join(project, 'package.json'), '{ "name": "user", "private": true }');
}, 180_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe('the packed tarball', () => {
  it('holds the build, the verifier, the pages and the examples, and nothing of the sources and tests', () => {
    const expected = ['dist/index.js', 'dist/index.d.ts', 'dist/cli/main.js', 'dist/verify.js', 'README.md', 'LICENSE'];
    for (const name of [...expected, 'CHANGELOG.md', 'package.json', 'llms.txt', 'docs/guide.md', 'docs/errors.md']) {
      expect(packed).toContain(name);
    }
    expect(packed.filter((name) => !/^(dist\/|docs\/|examples\/|[A-Za-z]+(\.md|\.json|\.txt)?$)/.test(name))).toEqual(
      [],
    );
  });

  it('has links in the index for models that lead to files of the package', () => {
    const index = readFileSync(path.join(project, 'node_modules', 'procura', 'llms.txt'), 'utf8');
    const links = [...index.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target = '']) => target);
    expect(links.length).toBeGreaterThan(8);
    expect(links.filter((target) => !packed.some((name) => name === target || name.startsWith(target)))).toEqual([]);
  });

  it('works from an ES module, with a database file', () => {
    expect(run('user.mjs', `import { createKernel } from 'procura';\n${program}`)).toBe('exited {"done":true} true\n');
  });

  it('works from CommonJS by require', () => {
    const source = `const { createKernel } = require('procura');\n(async () => {\n${program}})();\n`;
    expect(run('user.cjs', source)).toBe('exited {"done":true} true\n');
  });

  it('gives types to a strict TypeScript user', () => {
    expect(compilerOutput(typed, { skipLibCheck: false })).toBe('');
    const wrong = typed.replace('tokens: 10', "tokens: 'ten'");
    expect(compilerOutput(wrong, { skipLibCheck: true })).toMatch(/error TS2322/);
  }, 120_000);

  it('says which package the command needs besides, where that is not installed', () => {
    const main = path.join(project, 'node_modules', 'procura', 'dist', 'cli', 'main.js');
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'mcp', '--pid', 'p_1'], {
      encoding: 'utf8',
      env: asNpm,
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^error MISSING_PACKAGE: .+\nhint: Run: npm install @modelcontextprotocol\/server@2\n$/);
  });

  it('connects MCP servers where the package for it is installed, and says so where it is not', () => {
    const missing = JSON.parse(run('without.mjs', connecting)) as unknown;
    const command = 'npm install @modelcontextprotocol/client@2';
    const facts = { package: '@modelcontextprotocol/client', command };
    expect(missing).toEqual({ code: 'MISSING_PACKAGE', facts, hint: `Run: ${command}`, isKernelError: true });
    const scope = path.join(project, 'node_modules', '@modelcontextprotocol');
    symlinkSync(path.join(repository, 'node_modules', '@modelcontextprotocol'), scope);
    expect(run('with.mjs', connecting)).toBe('mcp/memory/create_entities\n');
    rmSync(scope);
  });

  it('can be imported by every subpath where the optional packages are missing, and the first use says what is missing', () => {
    const refusalOf = (name: string, version: string) => {
      const command = `npm install ${name}@${version}`;
      const facts = { package: name, command };
      return { code: 'MISSING_PACKAGE', facts, hint: `Run: ${command}`, isKernelError: true };
    };
    const lines = run('missing.mjs', withoutPeers).trim().split('\n');
    const [tools, served, closed, langChain, openai, outcome] = lines;
    expect(JSON.parse(tools ?? '')).toEqual(refusalOf('ai', '6'));
    expect(JSON.parse(served ?? '')).toEqual(refusalOf('@modelcontextprotocol/server', '2'));
    expect(JSON.parse(closed ?? '')).toEqual(refusalOf('@modelcontextprotocol/server', '2'));
    expect(JSON.parse(langChain ?? '')).toEqual(refusalOf('@langchain/core', '1'));
    expect(JSON.parse(openai ?? '')).toEqual(refusalOf('@openai/agents-core', '0.20'));
    expect(outcome).toBe('failed MISSING_PACKAGE');
  });

  it('gives the helpers for tests to any test runner, without the AI SDK, and with types', () => {
    expect(run('tested.mjs', tested)).toMatch(/pass 2\n.*fail 0\n/);
    expect(compilerOutput(tested, { skipLibCheck: false })).toBe('');
    const wrong = tested.replace("['Done.']", '[5]');
    expect(compilerOutput(wrong, { skipLibCheck: true })).toMatch(/error TS2322/);
  }, 120_000);

  it('gives agents to a project that has the AI SDK, with types', () => {
    for (const name of ['ai', '@ai-sdk']) {
      symlinkSync(path.join(repository, 'node_modules', name), path.join(project, 'node_modules', name));
    }
    expect(run('agent.mjs', agent)).toBe('hello 1\n');
    expect(compilerOutput(agent, { skipLibCheck: true })).toBe('');
    expect(compilerOutput(agent.replace("'agent'", '5'), { skipLibCheck: true })).toMatch(/error TS(2322|2769)/);
  }, 120_000);

  it('refuses what it does not export', () => {
    expect(() => run('inner.mjs', "import 'procura/dist/container.js';\n")).toThrow(/ERR_PACKAGE_PATH_NOT_EXPORTED/);
  });

  it('brings a command that says its version', () => {
    const main = path.join(project, 'node_modules', 'procura', 'dist', 'cli', 'main.js');
    const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as { version: string };
    expect(execFileSync(process.execPath, [main, '--version'], { encoding: 'utf8' })).toBe(`${version}\n`);
    expect(readFileSync(main, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });
});

function run(name: string, source: string): string {
  const file = path.join(project, name);
  writeFileSync(file, source);
  return execFileSync(process.execPath, [file], { cwd: project, encoding: 'utf8', stdio: 'pipe', env: asNpm });
}

/** The compiler's output for a user's file. */
function compilerOutput(source: string, libraries: { readonly skipLibCheck: boolean }): string {
  const config = { compilerOptions: { ...compilerOptions, ...libraries }, files: ['user.mts'] };
  writeFileSync(path.join(project, 'user.mts'), source);
  writeFileSync(path.join(project, 'tsconfig.json'), JSON.stringify(config));
  const compiler = path.join(repository, 'node_modules', 'typescript', 'bin', 'tsc');
  return spawnSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' }).stdout;
}

const program = `
const kernel = await createKernel({ store: 'user-' + process.pid + '.db' });
const pid = await kernel.processes.spawn();
await kernel.processes.exit(pid, { result: { done: true } });
const { status, value } = await kernel.processes.result(pid);
console.log(status, JSON.stringify(value), (await kernel.audit.verify()).ok);
await kernel.shutdown();
`;

/** Defined in programs: what a caller is told. */
const tell = `
const tell = (error) => {
  const { code, facts, hint } = error;
  return JSON.stringify({ code, facts, hint, isKernelError: error instanceof KernelError });
};
`;

const withoutPeers = `
import { createKernel, KernelError } from 'procura';
import { agentImage, toolsFor } from 'procura/ai-sdk';
import { claudeOptions } from 'procura/claude-agent';
import { toolsFor as toolsForLangChain } from 'procura/langchain';
import { governTools } from 'procura/mastra';
import { serveProcess } from 'procura/mcp-server';
import { durableModel } from 'procura/openai-agents';
import { callableTools } from 'procura/tools';
${tell}
const model = { specificationVersion: 'v3', provider: 'test', modelId: 'm', doGenerate() {}, doStream() {} };
const kernel = await createKernel({ images: [agentImage({ name: 'agent', model })] });
const face = kernel.as(await kernel.processes.spawn());
console.log(await toolsFor(face).catch(tell));
const served = serveProcess(face);
console.log(await served.closed.catch(tell));
console.log(await served.close().catch(tell));
await callableTools(face);
claudeOptions(face);
governTools(kernel, [], { prefix: 'own' });
console.log(await toolsForLangChain(face).catch(tell));
console.log(await durableModel(face, 'small').getResponse({}).catch(tell));
const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [{ resource: 'model:**', rights: ['call'] }] });
const { status, outcome } = await kernel.processes.result(pid);
console.log(status, outcome.reason);
await kernel.shutdown();
`;

const connecting = `
import { createKernel, KernelError } from 'procura';
${tell}
const kernel = await createKernel();
const file = ${JSON.stringify(path.join(repository, 'node_modules/@modelcontextprotocol/server-memory/dist/index.js'))};
const target = { command: process.execPath, args: [file], env: { MEMORY_FILE_PATH: process.cwd() + '/graph.jsonl' } };
const told = await kernel.tools.connectMcp('memory', target).then(
  ({ tools }) => tools[0].name,
  tell,
);
console.log(told);
await kernel.shutdown();
`;

const agent = `
import { MockLanguageModelV3 } from 'ai/test';
import { createKernel } from 'procura';
import { agentImage } from 'procura/ai-sdk';
const model = new MockLanguageModelV3({
  doGenerate: {
    content: [{ type: 'text', text: 'hello' }],
    finishReason: { unified: 'stop', raw: undefined },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
  },
});
const kernel = await createKernel({ images: [agentImage({ name: 'agent', model })] });
const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [{ resource: 'model:**', rights: ['call'] }] });
const { value } = await kernel.processes.result(pid);
const { text, turns } = Object(value);
console.log(text, turns);
await kernel.shutdown();
`;

const tested = `
import assert from 'node:assert/strict';
import test from 'node:test';
import { defineImage } from 'procura';
import { createTestKernel, expectDenied, historyOf, replay, scriptedModel } from 'procura/testing';
test('a sleep of a day is replayed', async () => {
  const image = defineImage({
    name: 'sleeper',
    run: async (ctx) => {
      await ctx.sleep(86_400_000);
      return 'awake';
    },
  });
  const kernel = await createTestKernel({ images: [image] });
  const pid = await kernel.processes.spawn({ image: 'sleeper' });
  await kernel.clock.advance(86_400_000);
  assert.equal((await kernel.processes.result(pid)).value, 'awake');
  assert.equal((await replay(await historyOf(kernel, pid), image)).result, 'awake');
  await expectDenied(kernel, pid, 'call', 'tool:x');
  await kernel.shutdown();
});
test('a model follows its script', async () => {
  const { content } = await scriptedModel(['Done.']).doGenerate({ prompt: [] });
  assert.deepEqual(content, [{ type: 'text', text: 'Done.' }]);
});
`;

const typed = `
import { createKernel, type Kernel, type KernelError, type McpConnection, type ProcessRecord } from 'procura';
const kernel: Kernel = await createKernel({ store: ':memory:' });
const pid = await kernel.processes.spawn({ name: 'typed', budget: { tokens: 10 } });
const record: ProcessRecord = await kernel.processes.get(pid);
const left: number | null = (await kernel.processes.budget(pid)).tokens.left;
const told = (error: KernelError): string => error.code;
const connection: McpConnection = await kernel.tools.connectMcp('s', { command: 'server', effects: { read: 'pure' } });
for await (const event of kernel.events.stream()) if (event.type === 'process.exited') event.data.status satisfies string;
await kernel.shutdown();
export { connection, left, record, told };
`;

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  module: 'NodeNext',
  target: 'ES2022',
  lib: ['ES2023', 'ESNext.Disposable'],
  types: ['node'],
  noEmit: true,
};
