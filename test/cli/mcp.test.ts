import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { builtPackage, repository } from '../support/built-package.js';
import { openOwnKernel, startMcp, writePrograms } from '../support/cli/mcp-command.js';
import { refusalOf, runBuiltCli, runCli, startCli } from '../support/cli/run-cli.js';
import { eventually } from '../support/eventually.js';
import { ask, refusedCall } from '../support/integrations/mcp-client.js';

beforeAll(() => builtPackage(), 150_000);
// Several programs are started one after another.
vi.setConfig({ testTimeout: 120_000 });

const echo = `
export const tools = [
  { name: 'say.again', description: 'Says it again.', effect: 'pure',
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false },
    run: ({ text }) => { console.log('ran'); return { said: text }; } },
  { name: 'slow', description: 'Never ends by itself.', effect: 'once', input: {},
    run: (_args, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))) },
];
`;

describe('procura mcp', () => {
  it('is one process for a client: it spawns a child, which another kernel does the work of, and waits for it', async () => {
    const { kernel, store } = await openOwnKernel();
    const pid = await kernel.processes.spawn({ name: 'lead', goal: 'Find three sources', budget: { children: 2 } });
    const { client } = await startMcp(store, '--pid', pid);
    expect(client.getInstructions()).toContain(`process ${pid}`);
    expect(client.getInstructions()).toContain('Find three sources');
    const { value } = await ask(client, 'spawn', { goal: 'one source', name: 'helper' });
    const child = value.pid as string;
    expect(await kernel.processes.get(child)).toMatchObject({ parent: pid, name: 'helper', status: 'created' });
    expect((await ask(client, 'wait', { pid: child, timeoutMs: 10 })).value).toMatchObject({
      ended: false,
      pid: child,
    });
    const waiting = ask(client, 'wait', { pid: child });
    expect((await ask(client, 'list_children')).value).toMatchObject({ children: [{ pid: child, status: 'created' }] });
    await kernel.processes.complete(child, { found: 1 });
    expect((await waiting).value).toMatchObject({
      ended: true,
      pid: child,
      status: 'exited',
      outcome: { kind: 'completed' },
      value: { found: 1 },
    });
    expect((await ask(client, 'list_children', { live: true })).value).toEqual({ children: [], more: false });
    const { items } = await kernel.audit.list({ actor: pid });
    expect(items.map(({ action, via }) => [action, via])).toEqual([
      ['process.spawnChild', 'process'],
      ['process.wait', 'process'],
      ['memory.addToView', 'process'],
    ]);
  });

  it('calls tools that are granted; others are refused with what is missing, and on record', async () => {
    const { kernel, store, folder } = await openOwnKernel();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:say.again', rights: ['call'] }] });
    const { client, stderr: said } = await startMcp(store, '--pid', pid, '--images', writePrograms(folder, echo));
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'tool_say_again')).toMatchObject({
      title: 'say.again',
      inputSchema: { type: 'object', required: ['text'] },
      annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false },
    });
    expect(tools.map(({ name }) => name)).toContain('tool_clock_now');
    expect(await ask(client, 'tool_say_again', { text: 'ahoy' })).toEqual({
      isError: false,
      text: '{"said":"ahoy"}',
      value: { said: 'ahoy' },
    });
    const refused = await refusedCall(client, 'tool_slow');
    expect(refused).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { pid, resource: 'tool:slow' } });
    expect(refused.text).toContain('missing: call on tool:slow (NO_CAPABILITY)');
    expect(refused.text).toContain('or ask a person: request_capability {"resource":"tool:slow","rights":["call"]}');
    const [record] = (await kernel.audit.list({ actor: pid, outcome: 'refused' })).items;
    expect(record).toMatchObject({ action: 'tool.call', resource: 'tool:slow', code: 'CAPABILITY_DENIED' });
    expect((await ask(client, 'explain', { right: 'call', resource: 'tool:slow' })).value).toMatchObject({
      effect: 'deny',
      code: 'NO_CAPABILITY',
      nearest: [{ pattern: 'tool:say.again' }],
    });
    // Output of modules must not reach the client, because it is not part of the protocol.
    expect(said()).toContain('loaded\nnoise\nran\n');
  });

  it('asks a person for a capability, whose answer comes from another program', async () => {
    const { kernel, store, folder } = await openOwnKernel();
    const pid = await kernel.processes.spawn();
    const { client } = await startMcp(store, '--pid', pid, '--images', writePrograms(folder, echo));
    const wanted = { resource: 'tool:say.again', rights: ['call'], uses: 1 };
    const early = await ask(client, 'request_capability', { ...wanted, timeoutMs: 20 });
    expect(early.value).toMatchObject({
      granted: false,
      note: expect.stringContaining('call request_capability again'),
    });
    const asked = ask(client, 'request_capability', wanted);
    const [approval, ...others] = await kernel.approvals.list();
    expect([approval?.id, others]).toEqual([early.value.approval, []]);
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    expect((await asked).value).toMatchObject({ granted: true, capability: { resource: 'tool:say.again', uses: 1 } });
    expect((await ask(client, 'tool_say_again', { text: 'a' })).isError).toBe(false);
    expect((await refusedCall(client, 'tool_say_again', { text: 'a' })).facts).toMatchObject({ code: 'SPENT' });
    const denied = refusedCall(client, 'request_capability', { resource: 'tool:slow', rights: ['call'] });
    await eventually(async () => expect(await kernel.approvals.list()).toHaveLength(1));
    const [second] = await kernel.approvals.list();
    await kernel.approvals.answer(second?.id ?? '', { decision: 'deny', by: 'ann' });
    expect((await denied).code).toBe('APPROVAL_DENIED');
  });

  it('ends the process with exit, answers that, and is over', async () => {
    const { kernel, store } = await openOwnKernel();
    const parent = await kernel.processes.spawn();
    const pid = await kernel.processes.spawnChild(parent);
    const { client, closed, osPid } = await startMcp(store, '--pid', pid.slice(-10));
    expect((await ask(client, 'exit', { result: { sources: 3 }, message: 'found' })).value).toEqual({
      pid,
      ended: true,
    });
    await closed;
    await waitForExit(osPid);
    expect(await kernel.processes.wait(parent, pid)).toMatchObject({
      status: 'exited',
      value: { sources: 3 },
      message: 'found',
    });
    expect((await kernel.audit.verify()).ok).toBe(true);
  });

  it('is over when the process is killed from outside; what was pending is refused', async () => {
    const { kernel, store, folder } = await openOwnKernel();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:slow', rights: ['call'] }] });
    const child = await kernel.processes.spawnChild(pid);
    const { client, closed, osPid } = await startMcp(store, '--pid', pid, '--images', writePrograms(folder, echo));
    const pending = [
      refusedCall(client, 'wait', { pid: child }),
      refusedCall(client, 'receive'),
      refusedCall(client, 'tool_slow'),
      refusedCall(client, 'request_capability', { resource: 'tool:x', rights: ['call'] }),
    ];
    await eventually(async () => {
      expect((await kernel.audit.list({ action: 'tool.call' })).items).toHaveLength(1);
      expect(await kernel.approvals.list()).toHaveLength(1);
    });
    await kernel.processes.kill(pid, 'enough');
    for (const refused of await Promise.all(pending)) {
      expect(['PROCESS_TERMINATED', 'CANCELLED', 'CAPABILITY_DENIED']).toContain(refused.code);
    }
    await closed;
    await waitForExit(osPid);
    expect((await kernel.audit.verify()).ok).toBe(true);
  });

  it('leaves the process alone and the log signed when the client goes away, also in the middle of calls', async () => {
    const { kernel, store, folder } = await openOwnKernel();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:slow', rights: ['call'] }] });
    // Without the package's client, which kills a server that takes long to stop.
    const child = await startCli(
      ['mcp', '--pid', pid, '--store', store, '--images', writePrograms(folder, echo)],
      {},
      'pipe',
    );
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = new Promise((resolve) => child.once('close', resolve));
    const call = (id: number, name: string, args: object = {}) =>
      ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } }) as const;
    const lines = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      call(2, 'receive'),
      call(3, 'tool_slow'),
      call(4, 'request_capability', { resource: 'tool:x', rights: ['call'] }),
    ];
    for (const line of lines) child.stdin?.write(`${JSON.stringify(line)}\n`);
    await eventually(async () => {
      expect((await kernel.audit.list({ action: 'tool.call' })).items).toHaveLength(1);
      expect(await kernel.approvals.list()).toHaveLength(1);
    });
    child.stdin?.end();
    expect(await ended).toBe(0);
    expect((await kernel.processes.get(pid)).status).toBe('created');
    const outcomes = (await kernel.audit.list({ action: 'tool.call' })).items.map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['intent', 'unknown']);
    const { ok, size, sealed } = await kernel.audit.verify();
    expect({ ok, unsigned: size - sealed }).toEqual({ ok: true, unsigned: 0 });
    const { client: again } = await startMcp(store, '--pid', pid);
    expect((await ask(again, 'list_children')).value).toEqual({ children: [], more: false });
  });

  it('stops in good order when it is told to', async () => {
    const { kernel, store } = await openOwnKernel();
    const pid = await kernel.processes.spawn();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { client, closed, osPid, stderr: said } = await startMcp(store, '--pid', pid);
      const waiting = refusedCall(client, 'receive');
      await ask(client, 'capabilities');
      process.kill(osPid, signal);
      expect((await waiting).code).toBe('CANCELLED');
      await closed;
      await waitForExit(osPid);
      expect(said()).toBe('');
    }
    expect((await kernel.processes.get(pid)).status).toBe('created');
    expect((await kernel.audit.verify()).ok).toBe(true);
  });

  it('ends with exit code 0 and an empty output when nobody speaks', async () => {
    const { kernel, store } = await openOwnKernel();
    const pid = await kernel.processes.spawn();
    expect(await runBuiltCli(['mcp', '--pid', pid, '--store', store])).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  it('gives up a call that the client takes back, and the tool hears of it', async () => {
    const { kernel, store, folder } = await openOwnKernel();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:slow', rights: ['call'] }] });
    const { client } = await startMcp(store, '--pid', pid, '--images', writePrograms(folder, echo));
    const taking = new AbortController();
    const calling = ask(client, 'tool_slow', {}, { signal: taking.signal }).catch(() => 'taken back');
    await eventually(async () => expect((await kernel.audit.list({ action: 'tool.call' })).items).toHaveLength(1));
    taking.abort();
    expect(await calling).toBe('taken back');
    await eventually(async () => expect((await kernel.audit.list({ action: 'tool.call' })).items).toHaveLength(2));
    expect((await ask(client, 'list_children')).isError).toBe(false);
  });

  it('runs the bodies of children with --run, and only then', async () => {
    const { kernel, store, folder } = await openOwnKernel();
    const module = writePrograms(folder, await adder());
    const pid = await kernel.processes.spawn();
    const { client } = await startMcp(store, '--pid', pid, '--images', module, '--run');
    const { value } = await ask(client, 'spawn', { image: 'adder', args: { a: 1, b: 2 } });
    expect((await ask(client, 'wait')).value).toMatchObject({ ended: true, pid: value.pid, value: 3 });
    const { client: beside } = await startMcp(store, '--pid', pid, '--images', module);
    await client.close();
    await ask(beside, 'spawn', { image: 'adder', args: { a: 1, b: 2 } });
    expect((await ask(beside, 'wait', { timeoutMs: 300 })).value).toMatchObject({ ended: false });
    expect((await refusedCall(beside, 'spawn', { image: 'nothing' })).code).toBe('NO_SUCH_IMAGE');
  });

  it('connects the MCP servers of a module: their tools are called like any other', async () => {
    const { kernel, store, folder } = await openOwnKernel();
    const pid = await kernel.processes.spawn({
      capabilities: [{ resource: 'tool:mcp/notes/read_graph', rights: ['call'] }],
    });
    const server = path.join(repository, 'node_modules/@modelcontextprotocol/server-memory/dist/index.js');
    const target = { command: process.execPath, args: [server], env: { MEMORY_FILE_PATH: path.join(folder, 'notes') } };
    const module = writePrograms(folder, `export const mcp = ${JSON.stringify({ notes: target })};`);
    const { client } = await startMcp(store, '--pid', pid, '--images', module);
    expect((await ask(client, 'tool_mcp_notes_read_graph')).value).toEqual({ entities: [], relations: [] });
    expect((await refusedCall(client, 'tool_mcp_notes_create_entities', { entities: [] })).code).toBe(
      'CAPABILITY_DENIED',
    );
    const [running] = (await kernel.processes.list({ name: 'mcp:notes' })).items;
    expect(running?.status).toBe('running');
    await client.close();
    await eventually(async () => expect((await kernel.processes.get(running?.pid ?? '')).exitedAt).toBeDefined());
    expect((await kernel.processes.get(pid)).status).toBe('created');
  });

  it('spawns the process first when it is told to, once for an id', async () => {
    const { kernel, store } = await openOwnKernel();
    const spec = JSON.stringify({ id: 'desk', goal: 'Help', budget: { children: 1 } });
    const { client, stderr: said } = await startMcp(store, '--spawn', spec);
    const [root] = (await kernel.processes.list()).items;
    expect(said()).toBe(`serving ${root?.pid}\n`);
    await ask(client, 'spawn', {});
    expect((await refusedCall(client, 'spawn', {})).facts).toMatchObject({ dimension: 'children', limit: 1 });
    await client.close();
    const { client: again } = await startMcp(store, '--spawn', spec);
    expect(((await ask(again, 'list_children')).value.children as unknown[]).length).toBe(1);
  });

  it('refuses before a word of the protocol: nobody, somebody who has ended, no process, two, no module, no spec', async () => {
    const { kernel, store, folder } = await openOwnKernel();
    const ended = await kernel.processes.spawn();
    await kernel.processes.exit(ended);
    const live = await kernel.processes.spawn();
    const missing = path.join(folder, 'missing.db');
    const cases: [string[], number, string][] = [
      [['--pid', 'p_nobody'], 1, 'NO_SUCH_PROCESS'],
      [['--pid', ended], 1, 'PROCESS_TERMINATED'],
      [['--pid', live, '--store', missing], 1, 'NO_SUCH_STORE'],
      [['--pid', live, '--images', path.join(folder, 'nothing.mjs')], 1, 'INVALID_INPUT'],
      [['--pid', live, '--images', writePrograms(folder, 'export const other = 1;')], 1, 'INVALID_INPUT'],
      [['--pid', live, '--images', writePrograms(folder, 'export const tools = [{ name: 5 }];')], 1, 'INVALID_INPUT'],
      [['--pid', live, '--images', writePrograms(folder, 'export const mcp = { x: 5 };')], 1, 'INVALID_INPUT'],
      [['--spawn', '{"colour":"red"}'], 1, 'INVALID_INPUT'],
      [['--spawn', 'not json'], 2, 'USAGE'],
      [[], 2, 'USAGE'],
      [['--pid', live, '--spawn', '{}'], 2, 'USAGE'],
    ];
    // The first one by the built command, as a client would start it.
    for (const [index, [args, exitCode, code]] of cases.entries()) {
      const runCase = index === 0 ? runBuiltCli : runCli;
      const run = await runCase(['mcp', '--store', store, ...args]);
      const stderr = run.stderr.replace(/^(loaded\n)?(noise\n)?/, '');
      expect([args, refusalOf({ ...run, stderr }), run.stdout]).toEqual([args, { exitCode, code }, '']);
    }
    expect(existsSync(missing)).toBe(false);
    expect((await kernel.processes.list()).items).toHaveLength(2);
  });

  it('outlives lines that are no messages, and closes when its reader is gone', async () => {
    const { kernel, store } = await openOwnKernel();
    const pid = await kernel.processes.spawn();
    const child = await startCli(['mcp', '--pid', pid, '--store', store], {}, 'pipe');
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = new Promise((resolve) => child.once('close', resolve));
    const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize };
    child.stdin?.write(`not json\n{"jsonrpc":"2.0"}\n${JSON.stringify(hello)}\n`);
    const line = await new Promise<string>((resolve) => child.stdout?.once('data', (chunk) => resolve(String(chunk))));
    expect(JSON.parse(line)).toMatchObject({ id: 1, result: { serverInfo: { name: 'procura' } } });
    child.stdout?.destroy();
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' })}\n`);
    expect(await ended).toBe(0);
    const { ok, size, sealed } = await kernel.audit.verify();
    expect({ ok, unsigned: size - sealed }).toEqual({ ok: true, unsigned: 0 });
  });
});

/** A module with an `add` tool that imports the package under test. */
async function adder(): Promise<string> {
  const index = pathToFileURL(path.join(await builtPackage(), 'dist', 'index.js')).href;
  return `import { defineImage } from '${index}';
export const images = [defineImage({ name: 'adder', run: async (_ctx, { a, b }) => a + b })];`;
}

const initialize = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1.0.0' },
};

/** Resolves when the OS process has exited. */
async function waitForExit(osPid: number): Promise<void> {
  for (let waited = 0; waited < 20_000; waited += 20) {
    try {
      process.kill(osPid, 0);
    } catch {
      return;
    }
    await sleep(20);
  }
  throw new Error(`${osPid} is still there`);
}
