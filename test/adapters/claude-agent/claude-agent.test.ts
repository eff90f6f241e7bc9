import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { query } from '@anthropic-ai/claude-agent-sdk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CapabilitySpec, defineTool, type Kernel, type Pid, type SpawnSpec } from '../../../src/index.js';
import {
  type ClaudeAdapterOptions,
  type ClaudeOptions,
  claudeOptions,
  claudeTools,
} from '../../../src/integrations/claude-agent/index.js';
import { eventually } from '../../support/eventually.js';
import { openKernel } from '../../support/kernel.js';
import { MessagesServer, type MessagesTurn, resultsIn } from './messages-server.js';

const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'], delegable: true };
const add = defineTool({
  name: 'math.add',
  description: 'Adds.',
  effect: 'pure',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  run: (args) => {
    const { a, b } = args as { a: number; b: number };
    return a + b;
  },
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'procura-claude-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Session {
  readonly kernel: Kernel;
  readonly pid: Pid;
  readonly server: MessagesServer;
  readonly cwd: string;
  /** Runs the real SDK to the end of its session. */
  run(change?: (options: ClaudeOptions) => void): Promise<{ result: string; errors: unknown[] }>;
}

/** A kernel, a process, and a session of the SDK whose model follows the script. */
async function openSession(
  script: readonly MessagesTurn[] | ((turn: number, isSubagent: boolean) => MessagesTurn),
  spec: SpawnSpec = {},
  adapter: ClaudeAdapterOptions = { tools: 'governed' },
): Promise<Session> {
  const turns = { main: 0, sub: 0 };
  const server = new MessagesServer((request) => {
    const isSubagent = JSON.stringify(request.messages[0]).includes('for the subagent');
    const turn = isSubagent ? turns.sub++ : turns.main++;
    return typeof script === 'function' ? script(turn, isSubagent) : (script[turn] ?? 'no turn is left');
  });
  const url = await server.listen();
  onTestFinished(() => server.close());
  const kernel = await openKernel({ tools: [add, ...claudeTools()] });
  const pid = await kernel.processes.spawn({ name: 'coder', capabilities: [callTools], ...spec });
  const cwd = temporaryFolder();
  const home = temporaryFolder();
  const run: Session['run'] = async (change = () => undefined) => {
    const governed = claudeOptions(kernel.as(pid), adapter);
    change(governed);
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, '.claude'),
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'sk-ant-test',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    };
    const session = query({
      prompt: 'Begin.',
      options: { cwd, env, model: 'claude-sonnet-4-5', maxTurns: 10, settingSources: [], ...governed },
    });
    let result = '';
    const errors: unknown[] = [];
    try {
      for await (const message of session) {
        if (process.env.DEBUG_CLAUDE) console.log(JSON.stringify(message).slice(0, 400));
        if (message.type === 'result') result = 'result' in message ? message.result : message.subtype;
      }
    } catch (error) {
      errors.push(error);
    }
    return { result, errors };
  };
  return { kernel, pid, server, cwd, run };
}

async function outcomes(kernel: Kernel): Promise<string[]> {
  const { items } = await kernel.audit.list({ action: 'tool.call' });
  return items.map(({ outcome, code }) => (outcome === 'refused' ? String(code) : outcome));
}

describe('an agent of the real Claude Agent SDK', () => {
  it('has its own tools run when the kernel allows the call, which is on record', async () => {
    const { kernel, cwd, server, run } = await openSession([
      { calls: [['Bash', { command: 'echo made > made.txt', description: 'Makes a file' }]] },
      'done',
    ]);
    expect(await run()).toEqual({ result: 'done', errors: [] });
    expect(readFileSync(join(cwd, 'made.txt'), 'utf8')).toBe('made\n');
    expect(await outcomes(kernel)).toEqual(['intent', 'ok']);
    expect(resultsIn(server.requests.at(-1))).toHaveLength(1);
  });

  it('is refused with a reason that its model reads, and nothing happens', async () => {
    const onlyEcho: CapabilitySpec = {
      resource: 'tool:claude/Bash',
      rights: ['call'],
      constraints: { command: { prefix: 'echo' }, '*': { any: true } },
    };
    const { kernel, cwd, server, run } = await openSession(
      [{ calls: [['Bash', { command: 'touch made.txt', description: 'Makes a file' }]] }, 'done'],
      { capabilities: [onlyEcho] },
    );
    expect(await run()).toEqual({ result: 'done', errors: [] });
    expect(existsSync(join(cwd, 'made.txt'))).toBe(false);
    expect(await outcomes(kernel)).toEqual(['CAPABILITY_DENIED']);
    expect(resultsIn(server.requests.at(-1))).toEqual([
      { text: expect.stringContaining('CAPABILITY_DENIED'), isError: true },
    ]);
  });

  it('does nothing for a call whose hook throws', async () => {
    const { kernel, cwd, server, run } = await openSession([
      { calls: [['Bash', { command: 'touch made.txt', description: 'Makes a file' }]] },
      'done',
    ]);
    await run(({ hooks }) => {
      for (const matcher of hooks.PreToolUse) matcher.hooks = [() => Promise.reject(new Error('the hook is broken'))];
    });
    expect(existsSync(join(cwd, 'made.txt'))).toBe(false);
    expect(await outcomes(kernel)).toEqual([]);
    expect(server.requests.length).toBeGreaterThan(0);
    expect(resultsIn(server.requests.at(-1)).every(({ isError }) => isError)).toBe(true);
  });

  it('records a failure, and waits for a person where a rule asks', async () => {
    const { kernel, pid, run } = await openSession([
      { calls: [['Read', { file_path: '/nowhere/at/all.txt' }]] },
      { calls: [['Bash', { command: 'true', description: 'Nothing' }]] },
      'done',
    ]);
    await kernel.capabilities.ask(pid, { resource: 'tool:claude/Bash', rights: ['call'] });
    const running = run();
    await eventually(async () => expect(await kernel.approvals.list({ status: 'pending' })).toHaveLength(1));
    const [approval] = await kernel.approvals.list({ status: 'pending' });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    expect((await running).result).toBe('done');
    expect(await outcomes(kernel)).toEqual(['intent', 'failed', 'intent', 'ok']);
  });

  it('is stopped with its process', async () => {
    const { kernel, pid, run, cwd } = await openSession([
      {
        calls: [['Bash', { command: 'touch one.txt; until [ -e go.txt ]; do sleep 0.1; done', description: 'Waits' }]],
      },
      { calls: [['Bash', { command: 'touch two.txt', description: 'Makes a file' }]] },
      'done',
    ]);
    const running = run();
    await eventually(() => expect(existsSync(join(cwd, 'one.txt'))).toBe(true));
    await kernel.processes.kill(pid);
    writeFileSync(join(cwd, 'go.txt'), '');
    expect((await running).result).not.toBe('done');
    expect(existsSync(join(cwd, 'two.txt'))).toBe(false);
  });

  it('has the tools of the process, and no others, where the SDK’s own are off', async () => {
    const { kernel, server, run } = await openSession(
      [{ calls: [['mcp__procura__math_add', { a: 1, b: 2 }]] }, 'done'],
      {},
      {},
    );
    expect(await run()).toEqual({ result: 'done', errors: [] });
    expect(resultsIn(server.requests.at(-1))).toEqual([{ text: expect.stringContaining('3'), isError: false }]);
    expect(await outcomes(kernel)).toEqual(['intent', 'ok']);
    const names = server.requests[0]?.tools?.map(({ name }) => name) ?? [];
    expect(names).toContain('mcp__procura__math_add');
    expect(names.filter((name) => !name.startsWith('mcp__procura__'))).toEqual([]);
  });

  it('has its subagents run as children, which make their own calls', async () => {
    const { kernel, pid, run } = await openSession((turn, isSubagent) => {
      if (isSubagent) {
        if (turn === 0) return { calls: [['mcp__procura__math_add', { a: 1, b: 2 }]] };
        if (turn === 1) return { calls: [['Bash', { command: 'true', description: 'Nothing' }]] };
        return 'it is three';
      }
      if (turn > 0) return 'done';
      const input = { description: 'Adds', prompt: 'This is for the subagent.', subagent_type: 'general-purpose' };
      return { calls: [['Agent', { ...input, run_in_background: false }]] };
    });
    expect(await run()).toMatchObject({ result: 'done', errors: [] });
    const [child] = await kernel.processes.children(pid);
    expect(child).toMatchObject({ name: 'general-purpose' });
    const records = (await kernel.audit.list({ action: 'tool.call' })).items;
    const calls = records.filter(({ outcome }) => outcome === 'intent');
    expect(calls.map(({ actor, resource }) => [actor, resource])).toEqual([
      [pid, 'tool:claude/Agent'],
      [child?.pid, 'tool:math.add'],
      [child?.pid, 'tool:claude/Bash'],
    ]);
    expect(await kernel.processes.value(child?.pid ?? pid)).toBe('it is three');
  });

  it('spends no more calls than its budget has', async () => {
    const write = (name: string): MessagesTurn => ({
      calls: [['Bash', { command: `touch ${name}`, description: 'Makes' }]],
    });
    const { cwd, server, run } = await openSession([write('one'), write('two'), 'done'], { budget: { toolCalls: 1 } });
    writeFileSync(join(cwd, 'zero'), '');
    expect((await run()).result).toBe('done');
    expect([existsSync(join(cwd, 'one')), existsSync(join(cwd, 'two'))]).toEqual([true, false]);
    expect(resultsIn(server.requests.at(-1))[0]?.text).toContain('BUDGET_EXCEEDED');
  });
});
