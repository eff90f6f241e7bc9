import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Kernel, McpProgram, ProcessRecord } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { newStore, openKernel, refusal, tempFolder } from '../../support/kernel.js';
import { manualClock } from '../../support/kernel-fixture.js';
import { isAlive } from '../../support/os-processes.js';
import { isKept } from '../../support/storage/store-contents.js';
import { findInconsistencies } from '../../support/store-consistency.js';
import { failureOf, mcpFixture, npmServer, testProgram } from '../../support/tools/mcp-servers.js';

const node = (text: string): McpProgram => ({ command: process.execPath, args: ['-e', text] });

describe('a program that is a server', () => {
  it('is a process of the host, and is stopped with all that it has started', async () => {
    const { kernel, call } = await mcpFixture();
    const connection = await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
    const [server] = await processesOf(kernel, 's');
    expect(server).toMatchObject({ kind: 'command', status: 'running', parent: null, name: 'mcp:s' });
    const own = await pidOf(call);
    const grandchild = Number(((await call('mcp/s/grandchild')) as { text: string }).text);
    expect([own, grandchild].map(isAlive)).toEqual([true, true]);
    await connection.close();
    expect([own, grandchild].map(isAlive)).toEqual([false, false]);
    expect(await processesOf(kernel, 's')).toMatchObject([{ status: 'killed', outcome: { kind: 'cancelled' } }]);
    expect(await refusal(call('mcp/s/pid'))).toMatchObject({ code: 'NO_SUCH_TOOL' });
    expect(connection.tools).toEqual([]);
    await connection.close();
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('that is killed is started again; calls under way fail, and may be repeated', async () => {
    const { kernel, call } = await mcpFixture();
    const log = join(tempFolder(), 'log');
    const target = { ...testProgram('changing.mjs'), env: { LOG_FILE: log } };
    const connection = await kernel.tools.connectMcp('s', target);
    const before = connection.tools;
    const first = await pidOf(call);
    const grandchild = Number(((await call('mcp/s/grandchild')) as { text: string }).text);
    const waiting = failureOf(call('mcp/s/wait'));
    await eventually(() => expect(readFileSync(log, 'utf8')).toContain('waiting'));
    process.kill(first, 'SIGKILL');
    expect(await waiting).toEqual({
      code: 'TOOL_FAILED',
      facts: { tool: 'mcp/s/wait', reason: 'connection_lost', problem: 'Connection closed' },
      retryable: true,
    });
    expect(connection.tools).toEqual(before);
    const second = await pidOf(call);
    expect(second).not.toBe(first);
    expect(isAlive(grandchild)).toBe(false);
    expect((await processesOf(kernel, 's')).map(({ status }) => status).sort()).toEqual(['failed', 'running']);
    await connection.close();
    expect(isAlive(second)).toBe(false);
  });

  it('that ends again and again is given up, and its calls say so', async () => {
    // No restart is too long ago to count, however long they take.
    const { kernel, call, warnings } = await mcpFixture({ clock: manualClock() });
    const connection = await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
    for (let restart = 0; restart <= 5; restart++) {
      expect(await failureOf(call('mcp/s/crash'))).toMatchObject({ code: 'TOOL_FAILED', retryable: true });
    }
    expect(await failureOf(call('mcp/s/pid'))).toMatchObject({
      code: 'TOOL_FAILED',
      facts: { server: 's', reason: 'down' },
      retryable: false,
    });
    expect(await processesOf(kernel, 's')).toHaveLength(6);
    expect(warnings.at(-1)?.message).toBe('MCP server s is down: it was restarted too often');
    await connection.close();
    expect(await refusal(call('mcp/s/pid'))).toMatchObject({ code: 'NO_SUCH_TOOL' });
    await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
    expect(await pidOf(call)).toBeGreaterThan(0);
  });

  it.each(['cancel', 'kill'] as const)('is not started again after the operator has sent it %s', async (signal) => {
    const { kernel, call } = await mcpFixture();
    const connection = await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
    const [server] = await processesOf(kernel, 's');
    await kernel.processes[signal](server?.pid ?? '');
    await eventually(() => expect(connection.tools).toEqual([]));
    expect(await refusal(call('mcp/s/pid'))).toMatchObject({ code: 'NO_SUCH_TOOL' });
    await eventually(async () => {
      const [record] = (await kernel.audit.list({ action: 'mcp.close' })).items;
      expect(record).toMatchObject({ facts: { reason: 'stopped' }, target: 'mcp:s' });
    });
    expect(await processesOf(kernel, 's')).toMatchObject([{ status: 'killed' }]);
    await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
  });

  it('is told when a call is given up, because of its time or of its process', async () => {
    const { kernel, call, pid } = await mcpFixture();
    const log = join(tempFolder(), 'log');
    await kernel.tools.connectMcp('s', { ...testProgram('changing.mjs'), env: { LOG_FILE: log } });
    const lines = (text: string) =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line === text).length;
    expect(await failureOf(call('mcp/s/wait', {}, 500))).toMatchObject({ code: 'TOOL_TIMEOUT', retryable: true });
    await eventually(() => expect(lines('cancelled')).toBe(1));
    const stopped = failureOf(call('mcp/s/wait'));
    await eventually(() => expect(lines('waiting')).toBe(2));
    await kernel.processes.cancel(pid);
    expect(await stopped).toMatchObject({ code: expect.stringMatching(/^(CANCELLED|PROCESS_TERMINATED)$/) });
    await eventually(() => expect(lines('cancelled')).toBe(2));
  });

  it('ends with its kernel', async () => {
    const store = await newStore();
    const { kernel, call } = await mcpFixture({ store });
    await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
    const own = await pidOf(call);
    await kernel.shutdown();
    expect(isAlive(own)).toBe(false);
    expect(await refusal(kernel.tools.connectMcp('s', testProgram('changing.mjs')))).toMatchObject({
      code: 'KERNEL_CLOSED',
    });
    const again = await openKernel({ store });
    const [closed] = (await again.audit.list({ action: 'mcp.close' })).items;
    expect(closed).toMatchObject({ actor: 'host', outcome: 'ok', target: 'mcp:s', facts: { reason: 'shutdown' } });
    expect(await findInconsistencies(again)).toEqual([]);
  });

  it('is given its environment, which is kept nowhere', async () => {
    const store = await newStore();
    const { kernel, call } = await mcpFixture({ store });
    const token = 'f00dfacec0ffee';
    await kernel.tools.connectMcp('all', { ...npmServer('server-everything'), env: { API_TOKEN: token } });
    await kernel.shutdown();
    expect(await refusal(call('mcp/all/echo', { message: 'hi' }))).toMatchObject({ code: 'KERNEL_CLOSED' });
    expect(await isKept(store, token)).toBe(false);
  });

  it('is asked for nothing that needs a model, a person or the files of its client', async () => {
    const { kernel } = await mcpFixture();
    const { tools } = await kernel.tools.connectMcp('all', npmServer('server-everything'));
    expect(tools.filter(({ name }) => /sampling|elicitation|roots/.test(name))).toEqual([]);
  });
});

describe('a program that is no server', () => {
  it.each([
    ['says everything back', { command: 'cat' }],
    ['ends at once', node('process.exit(7)')],
    ['never answers', node('setInterval(() => {}, 1000)')],
    ['says the same for ever', { command: 'yes' }],
    ['says one endless line', node("setInterval(() => process.stdout.write('x'.repeat(1 << 20)), 1)")],
    ['is not there', { command: 'no-such-program-anywhere' }],
    [
      'answers wrongly',
      node('process.stdin.once(\'data\', () => console.log(\'{"jsonrpc":"2.0","id":0,"result":{}}\'))'),
    ],
  ])('and %s is refused and stopped, and nothing is left of it', async (_, target) => {
    const { kernel } = await mcpFixture();
    const connecting = kernel.tools.connectMcp('s', { ...target, connectTimeoutMs: 1_000 });
    expect(await failureOf(connecting)).toMatchObject({ code: 'TOOL_FAILED' });
    const live = (await processesOf(kernel, 's')).filter(({ exitedAt }) => exitedAt === undefined);
    expect(live).toEqual([]);
    expect(kernel.tools.list().filter(({ name }) => name.startsWith('mcp/'))).toEqual([]);
    const records = (await kernel.audit.list({ action: 'mcp.connect' })).items;
    expect(records).toMatchObject([{ actor: 'host', outcome: 'failed', code: 'TOOL_FAILED', target: 'mcp:s' }]);
    await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
  });

  it('tells its process, and with which code it ended', async () => {
    const { kernel } = await mcpFixture();
    const { facts } = await failureOf(kernel.tools.connectMcp('s', node('process.exit(7)')));
    const [server] = await processesOf(kernel, 's');
    expect(facts).toMatchObject({ server: 's', pid: server?.pid, exitCode: 7, reason: 'connection_lost' });
  });
});

describe('connectMcp', () => {
  it('takes a name once, until it is closed', async () => {
    const { kernel } = await mcpFixture();
    const target = testProgram('changing.mjs');
    const [first, second] = await Promise.allSettled([
      kernel.tools.connectMcp('s', target),
      kernel.tools.connectMcp('s', target),
    ]);
    expect(first).toMatchObject({ status: 'fulfilled' });
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'CONFLICT', facts: { server: 's' } } });
    expect(await processesOf(kernel, 's')).toHaveLength(1);
    {
      await using other = await kernel.tools.connectMcp('t', target);
      expect(other.tools).toHaveLength(11);
    }
    await kernel.tools.connectMcp('t', target);
  });

  it('leaves a record of what came and what went', async () => {
    const { kernel } = await mcpFixture({ operator: 'carol' });
    const connection = await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
    await connection.close();
    const { items } = await kernel.audit.list({ target: 'mcp:s' });
    const act = { actor: 'host', via: 'host:carol', outcome: 'ok', target: 'mcp:s' };
    expect(items).toMatchObject([
      { ...act, action: 'mcp.connect', facts: { tools: 11 } },
      { ...act, action: 'mcp.close', facts: { tools: 11, reason: 'requested' } },
    ]);
    const events = (await kernel.events.list({ types: ['tools.changed'] })).items;
    expect(events.map(({ data }) => data)).toEqual([
      { server: 's', added: 11, removed: 0, changed: 0 },
      { server: 's', added: 0, removed: 11, changed: 0 },
    ]);
  });

  it.each([
    ['server', 'a/b', { command: 'cat' }],
    ['server', '', { command: 'cat' }],
    ['server', 'x'.repeat(65), { command: 'cat' }],
    ['server', 7, { command: 'cat' }],
    ['target', 's', null],
    ['target', 's', 'cat'],
    ['target.command', 's', {}],
    ['target.command', 's', { command: '' }],
    ['target.command', 's', { command: 'a\0b' }],
    ['target.args.0', 's', { command: 'cat', args: [1] }],
    ['target.env.A', 's', { command: 'cat', env: { A: 1 } }],
    ['target', 's', { command: 'cat', shell: true }],
    ['target', 's', { command: 'cat', url: 'http://127.0.0.1/' }],
    ['target.url', 's', { url: 'ftp://127.0.0.1/' }],
    ['target.url', 's', { url: 'http://ann:secret@127.0.0.1/' }],
    ['target.url', 's', { url: 'nowhere' }],
    ['target.headers.a', 's', { url: 'http://127.0.0.1/', headers: { a: 'b\r\nc: d' } }],
    ['target.connectTimeoutMs', 's', { command: 'cat', connectTimeoutMs: 0 }],
    ['target.command', 's', { command: () => 'cat' }],
  ])('refuses a wrong %s: %j, %j', async (path, server, target) => {
    const { kernel } = await mcpFixture();
    const refused = await refusal(kernel.tools.connectMcp(server as string, target as McpProgram));
    expect(refused).toMatchObject({ code: 'INVALID_INPUT', facts: { path } });
    expect(JSON.stringify(refused)).not.toContain('secret');
    expect((await kernel.processes.list({ kind: 'command' })).items).toEqual([]);
  });
});

async function processesOf(kernel: Kernel, server: string): Promise<ProcessRecord[]> {
  return (await kernel.processes.list({ name: `mcp:${server}` })).items;
}

async function pidOf(call: (name: string) => Promise<unknown>): Promise<number> {
  return Number(((await call('mcp/s/pid')) as { text: string }).text);
}
