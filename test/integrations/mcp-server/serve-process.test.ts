import { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { ask, refusedCall } from '../../support/integrations/mcp-client.js';
import { connected, served } from '../../support/integrations/served-process.js';
import { openKernel } from '../../support/kernel.js';

const anyTool = [{ resource: 'tool:**', rights: ['call'] as const }];

describe('what a client is offered', () => {
  it('is the calls of the face, with schemas and hints, and the tools that the process sees', async () => {
    const { client } = await served();
    const { tools } = await client.listTools();
    const own = tools.filter(({ name }) => !name.startsWith('tool_'));
    expect(Object.fromEntries(own.map(({ name, annotations }) => [name, hintsOf(annotations)]))).toEqual({
      spawn: '',
      wait: 'idempotent',
      list_children: 'idempotent readOnly',
      signal: 'destructive idempotent',
      exit: 'destructive idempotent',
      send: '',
      receive: '',
      memory_read: 'idempotent readOnly',
      memory_write: 'idempotent',
      memory_search: 'idempotent readOnly',
      capabilities: 'idempotent readOnly',
      explain: 'idempotent readOnly',
      request_capability: 'idempotent',
    });
    for (const { name, description, inputSchema } of tools) {
      expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(inputSchema.type).toBe('object');
      expect(description?.length).toBeGreaterThan(20);
    }
    expect(own.find(({ name }) => name === 'wait')?.inputSchema).toEqual({
      type: 'object',
      properties: {
        pid: { type: 'string', description: expect.any(String) },
        timeoutMs: {
          type: 'integer',
          minimum: 0,
          maximum: 3_600_000,
          default: 50_000,
          description: expect.any(String),
        },
      },
      additionalProperties: false,
    });
  });

  it('has no tool of the kernel twice: what is a call of the face is not offered as a tool again', async () => {
    const { client } = await served({ capabilities: anyTool });
    const offered = (await client.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith('tool_'));
    expect(offered).toEqual(
      expect.arrayContaining(['tool_command_run', 'tool_process_fork', 'tool_memory_merge', 'tool_human_ask']),
    );
    expect(
      offered.filter((name) =>
        /process_(spawn|wait|list|signal)|message_|memory_(read|write|search)|request/.test(name),
      ),
    ).toEqual([]);
    const { text } = await ask(client, 'tool_process_spawn');
    expect(text).toContain('NO_SUCH_TOOL');
    expect(text).toContain('hint: Use spawn.');
  });

  it('is the same for a client of the newer revision of the protocol', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn();
    const modern = new Client(
      { name: 'test', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const { client } = await connected(kernel, pid, {}, modern);
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect((await client.listTools()).tools.length).toBeGreaterThan(13);
    expect((await ask(client, 'spawn')).value).toEqual({ pid: expect.stringMatching(/^p_/) });
    expect((await refusedCall(client, 'wait', { pid })).code).toBe('WAIT_CYCLE');
  });

  it('tells effects as hints, names apart that look alike, and takes arguments that are no objects', async () => {
    const tool = (name: string, effect: Tool['effect'], input: Tool['input'] = {}) =>
      defineTool({
        name,
        description: `The tool ${name}, for a test.`,
        effect,
        input,
        run: (args) => ({ name, args }),
      });
    const long = `mcp/server/${'x'.repeat(80)}`;
    const { client } = await served(
      { capabilities: anyTool },
      { tools: [tool('a.b', 'once'), tool('a_b', 'idempotent'), tool(long, 'pure'), tool('word', 'pure', z.string())] },
    );
    const { tools } = await client.listTools();
    const offered = new Map(tools.map((one) => [one.title, one]));
    expect(['a.b', 'a_b', long, 'word'].map((name) => offered.get(name)?.name)).toEqual([
      expect.stringMatching(/^tool_a_b_[0-9a-f]{8}$/),
      'tool_a_b',
      expect.stringMatching(/^tool_mcp_server_x{39}_[0-9a-f]{8}$/),
      'tool_word',
    ]);
    expect(['a.b', 'a_b', long].map((name) => hintsOf(offered.get(name)?.annotations))).toEqual([
      'destructive',
      'destructive idempotent',
      'idempotent readOnly',
    ]);
    for (const name of ['a.b', 'a_b', long]) {
      const { value } = await ask(client, offered.get(name)?.name ?? '', { x: 1 });
      expect(value).toEqual({ name, args: { x: 1 } });
    }
    expect((await ask(client, 'tool_word', { input: 'ahoy' })).value).toEqual({ name: 'word', args: 'ahoy' });
    expect((await refusedCall(client, 'tool_word', { input: 5 })).code).toBe('INVALID_INPUT');
  });
});

describe('a call', () => {
  it('writes, reads, rewrites and finds memory', async () => {
    const { kernel, pid, client } = await served({ goal: 'Count the ships' });
    const first = await ask(client, 'memory_write', { name: 'count', payload: { ships: 3 }, tags: ['sea'] });
    expect(first.value).toEqual({ object: expect.any(String), version: 1, isNew: true });
    const { object } = first.value;
    expect((await ask(client, 'memory_write', { name: 'count', payload: { ships: 4 } })).value).toEqual({
      object,
      version: 2,
      isNew: false,
    });
    expect((await ask(client, 'memory_read', { name: 'count' })).value).toMatchObject({
      id: object,
      payload: { ships: 4 },
      createdBy: pid,
    });
    expect((await ask(client, 'memory_read', { object, version: 1 })).value).toMatchObject({ payload: { ships: 3 } });
    expect((await refusedCall(client, 'memory_write', { object, payload: 5, ifVersion: 1 })).code).toBe(
      'VERSION_CONFLICT',
    );
    const goals = (await ask(client, 'memory_search', { types: ['goal'] })).value;
    expect(goals).toMatchObject({ objects: [{ payload: { text: 'Count the ships' } }] });
    await ask(client, 'memory_write', { payload: 'y'.repeat(5_000), tags: ['sea'] });
    const { objects } = (await ask(client, 'memory_search', { tags: ['sea'] })).value as { objects: object[] };
    expect(objects).toMatchObject([{ id: object, payload: { ships: 4 } }, { beginning: `"${'y'.repeat(999)}` }]);
    const other = await kernel.processes.spawn();
    const hidden = await kernel.memory.create(other, { type: 'claim', payload: 'secret' });
    expect((await refusedCall(client, 'memory_read', { object: hidden.id })).code).toBe('NO_SUCH_OBJECT');
    expect((await refusedCall(client, 'memory_read', {})).code).toBe('INVALID_INPUT');
    expect((await ask(client, 'memory_search', { text: 'secret' })).value).toEqual({ objects: [] });
  });

  it('sends and receives messages', async () => {
    const { kernel, pid, client } = await served();
    const child = await kernel.processes.spawnChild(pid);
    expect((await ask(client, 'send', { to: child, message: { hello: [1] } })).value).toEqual({
      to: child,
      sent: true,
    });
    expect(await kernel.as(child).receive()).toMatchObject({ from: pid, body: { hello: [1] } });
    expect((await ask(client, 'receive', { timeoutMs: 0 })).value).toMatchObject({ received: false });
    const receiving = ask(client, 'receive', { from: child });
    await kernel.as(child).send(pid, 'ahoy');
    expect((await receiving).value).toMatchObject({ received: true, from: child, kind: 'message', body: 'ahoy' });
    const stranger = await kernel.processes.spawn();
    expect(await refusedCall(client, 'send', { to: stranger, message: null })).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { right: 'send', resource: `process:${stranger}` },
    });
  });

  it('delegates to a child no more than the process may hand on', async () => {
    const { kernel, client } = await served({
      capabilities: [{ resource: 'tool:clock.now', rights: ['call'], delegable: true }],
      budget: { tokens: 100 },
    });
    const delegate = [{ resource: 'tool:clock.now', rights: ['call'], uses: 2 }];
    const { value } = await ask(client, 'spawn', { delegate, budget: { tokens: 10 }, labels: { team: 'blue' } });
    const child = value.pid as string;
    expect(await kernel.processes.get(child)).toMatchObject({ labels: { team: 'blue' }, budget: { tokens: 10 } });
    expect((await kernel.capabilities.list(child)).map(({ resource, uses }) => [resource, uses])).toContainEqual([
      'tool:clock.now',
      2,
    ]);
    const wider = [{ resource: 'tool:**', rights: ['call'] }];
    expect(await refusedCall(client, 'spawn', { delegate: wider })).toMatchObject({ code: 'AMPLIFICATION' });
    const { capabilities } = (await ask(client, 'capabilities')).value as { capabilities: object[] };
    expect(capabilities).toMatchObject([
      { rights: expect.arrayContaining(['create']) },
      { resource: 'tool:clock.now' },
    ]);
  });

  it('signals and waits for own children, and reaches nobody else', async () => {
    const { kernel, client } = await served();
    const child = (await ask(client, 'spawn')).value.pid as string;
    const below = await kernel.processes.spawnChild(child);
    const stranger = await kernel.processes.spawn();
    const theirs = await kernel.processes.spawnChild(stranger);
    for (const pid of [below, stranger, theirs, 'p_none']) {
      expect((await refusedCall(client, 'wait', { pid })).code).toBe('NOT_A_CHILD');
      for (const signal of ['pause', 'resume', 'cancel', 'kill']) {
        expect((await refusedCall(client, 'signal', { pid, signal })).code).toBe('NOT_A_CHILD');
      }
    }
    expect((await kernel.processes.get(theirs)).status).toBe('created');
    expect((await refusedCall(client, 'signal', { pid: child, signal: 'pause', reason: 'x' })).code).toBe(
      'INVALID_INPUT',
    );
    const { value } = await ask(client, 'signal', { pid: child, signal: 'cancel', reason: 'enough' });
    expect(new Set(value.delivered as string[])).toEqual(new Set([child, below]));
    expect((await ask(client, 'wait')).value).toMatchObject({
      pid: child,
      outcome: { kind: 'cancelled', reason: 'enough' },
    });
    expect((await refusedCall(client, 'wait')).code).toBe('NO_CHILDREN');
  });

  it('that cannot be understood is refused with what is wrong, and the server goes on', async () => {
    const { kernel, pid, client } = await served();
    const bad: [string, object, string][] = [
      ['nothing', {}, 'NO_SUCH_TOOL'],
      ['tool_nothing', {}, 'NO_SUCH_TOOL'],
      ['spawn', { colour: 'red' }, 'INVALID_INPUT'],
      ['spawn', { image: 'nothing' }, 'NO_SUCH_IMAGE'],
      ['spawn', { cwd: '../..' }, 'INVALID_PATH'],
      ['spawn', { budget: { tokens: -1 } }, 'INVALID_INPUT'],
      ['spawn', { delegate: [{ resource: 'tool:x*', rights: ['call'] }] }, 'INVALID_INPUT'],
      ['wait', { timeoutMs: 'long' }, 'INVALID_INPUT'],
      ['signal', { pid: 'p', signal: 'explode' }, 'INVALID_INPUT'],
      ['send', { to: pid }, 'INVALID_INPUT'],
      ['memory_write', { type: 'dream', payload: 1 }, 'INVALID_INPUT'],
      ['explain', { right: 'fly', resource: 'tool:x' }, 'INVALID_INPUT'],
      ['request_capability', { resource: 'tool:x', rights: [] }, 'INVALID_INPUT'],
      ['request_capability', { resource: 'nonsense', rights: ['call'] }, 'INVALID_INPUT'],
      ['exit', { result: 1, more: 2 }, 'INVALID_INPUT'],
    ];
    const codes = [];
    for (const [name, args] of bad) codes.push((await refusedCall(client, name, args)).code);
    expect(codes).toEqual(bad.map(([, , code]) => code));
    expect((await refusedCall(client, 'wait', { timeoutMs: 'long' })).text).toContain('arguments.timeoutMs: ');
    expect(await kernel.processes.children(pid)).toEqual([]);
    expect((await kernel.processes.get(pid)).status).toBe('created');
  });

  it('is one of many at the same time', async () => {
    const { kernel, pid, client } = await served();
    const receiving = ask(client, 'receive');
    const spawned = await Promise.all(Array.from({ length: 20 }, () => ask(client, 'spawn')));
    expect(new Set(spawned.map(({ value }) => value.pid)).size).toBe(20);
    await kernel.as(spawned[0]?.value.pid as string).send(pid, 'done');
    expect((await receiving).value).toMatchObject({ body: 'done' });
  });

  it('of a tool that fails in any way is an answer without a stack', async () => {
    const failing = defineTool({
      name: 'failing',
      description: 'Fails whatever is asked.',
      effect: 'once',
      input: {},
      run: () => Promise.reject(new Error('no luck')),
    });
    const { client } = await served({ capabilities: anyTool, budget: { toolCalls: 1 } }, { tools: [failing] });
    expect((await refusedCall(client, 'tool_failing')).text).toMatch(/^TOOL_FAILED: Tool failing failed: .*no luck/);
    expect(await refusedCall(client, 'tool_failing')).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'toolCalls', limit: 1 },
      text: expect.stringContaining('"limit":1'),
    });
  });
});

describe('the end of a served process', () => {
  it('is told by a signal: what is pending is answered first', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn();
    const ended = new AbortController();
    const { client, served: server } = await connected(kernel, pid, { signal: ended.signal });
    const receiving = refusedCall(client, 'receive');
    await ask(client, 'capabilities');
    await kernel.processes.kill(pid);
    expect((await receiving).code).toBe('PROCESS_TERMINATED');
    expect((await refusedCall(client, 'spawn')).code).toBe('PROCESS_TERMINATED');
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('tool_clock_now');
    ended.abort();
    await server.closed;
  });

  it('is not the end of the connection: closing gives up what waits, and the process lives on', async () => {
    const { kernel, pid, client, served: server } = await served();
    const receiving = refusedCall(client, 'receive');
    await ask(client, 'capabilities');
    await server.close();
    expect((await receiving).code).toBe('CANCELLED');
    await server.closed;
    expect((await kernel.processes.get(pid)).status).toBe('created');
  });

  it('comes with exit, whose answer is the last', async () => {
    const { kernel, pid, client, served: server } = await served();
    const receiving = refusedCall(client, 'receive');
    expect((await ask(client, 'exit', { failed: true, message: 'no ships' })).value).toEqual({ pid, ended: true });
    expect((await receiving).code).toBe('PROCESS_TERMINATED');
    await server.closed;
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'failed', message: 'no ships' });
  });

  it('leaves nothing under way when the client goes', async () => {
    const { kernel, client, served: server } = await served();
    const lost = ask(client, 'request_capability', { resource: 'tool:x', rights: ['call'] }).catch(() => 'lost');
    await eventually(async () => expect(await kernel.approvals.list()).toHaveLength(1));
    await client.close();
    expect(await lost).toBe('lost');
    await server.closed;
    expect(await kernel.approvals.list()).toHaveLength(1);
  });
});

/** The hints that are true. */
function hintsOf(annotations: object = {}): string {
  return Object.entries(annotations)
    .filter(([, is]) => is === true)
    .map(([name]) => name.replace(/Hint$/, ''))
    .sort()
    .join(' ');
}

describe('while the process is paused', () => {
  it('a call that acts is answered in words after a while, and has done nothing', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({ capabilities: anyTool });
    const child = await kernel.processes.spawnChild(pid);
    const { client } = await connected(kernel, pid, { pausedMs: 20 });
    await kernel.processes.pause(pid);
    const calls = {
      spawn: {},
      signal: { pid: child, signal: 'kill' },
      send: { to: child, message: 1 },
      exit: {},
      memory_write: { type: 'artifact', payload: 1 },
      tool_clock_now: {},
      request_capability: { resource: 'tool:x', rights: ['call'] },
    };
    for (const [name, args] of Object.entries(calls)) {
      const { isError, value, text } = await ask(client, name, args);
      expect([name, isError, value.paused], text).toEqual([name, false, true]);
      expect(value.note).toContain(name);
    }
    expect((await ask(client, 'list_children')).value).toMatchObject({ children: [{ pid: child, status: 'paused' }] });
    await kernel.processes.kill(child);
    expect((await ask(client, 'wait', { pid: child, timeoutMs: 10 })).value.paused).toBe(true);
    await kernel.processes.resume(pid);
    expect((await ask(client, 'spawn')).value).toEqual({ pid: expect.stringMatching(/^p_/) });
  });

  it('a call that is resumed in time is made', async () => {
    const { kernel, pid, client } = await served();
    await kernel.processes.pause(pid);
    const spawned = ask(client, 'spawn', { name: 'late' });
    await kernel.processes.resume(pid);
    expect((await spawned).value).toEqual({ pid: expect.stringMatching(/^p_/) });
  });
});
