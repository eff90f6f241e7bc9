import { describe, expect, it } from 'vitest';
import {
  defineImage,
  defineTool,
  type Image,
  type Kernel,
  KernelError,
  type Syscalls,
  type Tool,
} from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';

const callAll = [{ resource: 'tool:**', rights: ['call' as const] }];

describe('a tool that a body calls', () => {
  it('is not called again when the body is run again', async () => {
    const world: string[] = [];
    const send = tool('send', 'once', async () => world.push('sent'));
    const body = image(async (ctx) => {
      const first = await ctx.tools.call('send');
      await ctx.sleep(60_000);
      return first;
    });
    const site = await place([send], [body]);
    const before = await site.open();
    const pid = await before.processes.spawn({ image: 'body', capabilities: callAll });
    await eventually(async () => expect((await before.processes.get(pid)).wait?.kind).toBe('timer'));
    await before.shutdown();
    const after = await site.open();
    await eventually(async () => expect((await after.processes.get(pid)).wait?.kind).toBe('timer'));
    expect(world).toEqual(['sent']);
    const entries = await after.processes.journal(pid);
    expect(entries.map(({ key, status }) => `${key}: ${status}`)).toContain('tool send #1: done');
    expect(await findInconsistencies(after)).toEqual([]);
  });

  it('fails in the body as it failed before, and is not called again', async () => {
    let calls = 0;
    const broken = tool('broken', 'once', async () => {
      calls++;
      throw new Error('out of order');
    });
    const observed: unknown[] = [];
    const body = image(async (ctx) => {
      observed.push(await ctx.tools.call('broken').catch((error) => [error.code, error.facts.error]));
      await ctx.sleep(60_000);
    });
    const site = await place([broken], [body]);
    const before = await site.open();
    const pid = await before.processes.spawn({ image: 'body', capabilities: callAll });
    await eventually(async () => expect((await before.processes.get(pid)).wait?.kind).toBe('timer'));
    await before.shutdown();
    const after = await site.open();
    await eventually(() => expect(observed).toHaveLength(2));
    expect(observed).toEqual([
      ['TOOL_FAILED', 'Error: out of order'],
      ['TOOL_FAILED', 'Error: out of order'],
    ]);
    expect(calls).toBe(1);
    expect(await findInconsistencies(after)).toEqual([]);
  });

  it('that was under way when its node was given up: a pure one is repeated with the same key, one of once is not', async () => {
    const calls: [string, number, string][] = [];
    const hangs = (name: string, effect: 'pure' | 'once') =>
      defineTool({
        name,
        description: name,
        effect,
        input: {},
        run: async (_args, { attempt, idempotencyKey }) => {
          calls.push([name, attempt, idempotencyKey]);
          return attempt === 1 ? new Promise<never>(() => undefined) : `attempt ${attempt}`;
        },
      });
    const body = image(async (ctx) => {
      const answers = await Promise.allSettled([ctx.tools.call('ask'), ctx.tools.call('pay')]);
      return answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.code));
    });
    const site = await place([hangs('ask', 'pure'), hangs('pay', 'once')], [body]);
    const before = await site.open();
    const pid = await before.processes.spawn({ image: 'body', capabilities: callAll, budget: { toolCalls: 3 } });
    await eventually(() => expect(calls).toHaveLength(2));
    await before.shutdown({ graceMs: 0 });
    const after = await site.open();
    expect(await after.processes.result(pid)).toMatchObject({ value: ['attempt 2', 'OUTCOME_UNKNOWN'] });
    expect(calls.map(([name, attempt]) => [name, attempt])).toEqual([
      ['ask', 1],
      ['pay', 1],
      ['ask', 2],
    ]);
    expect(calls[0]?.[2]).toBe(calls[2]?.[2]);
    expect((await after.processes.get(pid)).used.toolCalls).toBe(2);
    const outcomes = (await after.audit.list({ action: 'tool.call' })).items.map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'unknown')).toHaveLength(2);
    await checkInvariants(after, site.store);
  });

  it('waits while a person is asked, runs once when it is approved, and is refused when it is not', async () => {
    let runs = 0;
    const pay = tool('pay', 'once', async () => ++runs);
    const body = image(async (ctx) => {
      const first = await ctx.tools.call('pay');
      const second = await ctx.tools.call('pay').catch((error: KernelError) => error.code);
      return [first, second];
    });
    const kernel = await openKernel({ tools: [pay], images: [body] });
    await kernel.capabilities.ask('*', { resource: 'tool:pay', rights: ['call'] });
    const pid = await kernel.processes.spawn({ image: 'body', capabilities: callAll });
    for (const decision of ['once', 'deny'] as const) {
      await eventually(async () => expect(await kernel.approvals.list()).toHaveLength(1));
      await eventually(async () => expect((await kernel.processes.get(pid)).wait?.kind).toBe('approval'));
      const [approval] = await kernel.approvals.list();
      await kernel.approvals.answer(approval?.id ?? '', { decision, by: 'ann' });
    }
    expect(await kernel.processes.result(pid)).toMatchObject({ value: [1, 'APPROVAL_DENIED'] });
    const intent = (await kernel.audit.list({ action: 'tool.call' })).items.find(({ outcome }) => outcome === 'intent');
    expect((await kernel.audit.authority(intent?.seq ?? 0)).waivedBy).toMatchObject({ by: 'ann', decision: 'once' });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('has its outcome written while its process is paused', async () => {
    let release: (value: string) => void = () => undefined;
    const slow = tool('slow', 'once', () => new Promise((resolve) => (release = resolve)));
    const body = image(async (ctx) => ctx.tools.call('slow'));
    const kernel = await openKernel({ tools: [slow], images: [body] });
    const pid = await kernel.processes.spawn({ image: 'body', capabilities: callAll });
    await eventually(async () => expect((await kernel.events.list({ types: ['tool.called'] })).items).toHaveLength(1));
    await kernel.processes.pause(pid);
    release('there');
    await eventually(async () =>
      expect((await kernel.events.list({ types: ['tool.returned'] })).items).toHaveLength(1),
    );
    expect((await kernel.processes.get(pid)).status).toBe('paused');
    await kernel.processes.resume(pid);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'there' });
  });

  it('leaves nothing to the program that takes the place of its own meanwhile, and is on record', async () => {
    let release: (value: string) => void = () => undefined;
    const slow = tool('slow', 'once', () => new Promise((resolve) => (release = resolve)));
    const store = await newStore();
    const kernel = await openKernel({ store, tools: [slow], images: [image(async (ctx) => ctx.tools.call('slow'))] });
    const pid = await kernel.processes.spawn({ image: 'body', capabilities: callAll });
    await eventually(async () => expect((await kernel.events.list({ types: ['tool.called'] })).items).toHaveLength(1));
    await kernel.processes.exec(pid, { image: 'base', preserveMemory: false });
    release('for the other one');
    await eventually(async () =>
      expect((await kernel.events.list({ types: ['tool.returned'] })).items).toHaveLength(1),
    );
    expect((await kernel.memory.query(pid, { types: ['tool_result'] })).items).toEqual([]);
    const outcomes = (await kernel.audit.list({ action: 'tool.call' })).items.map(({ outcome }) => outcome);
    expect(outcomes).toContain('ok');
    await checkInvariants(kernel, store);
  });

  it('hears that its process is cancelled', async () => {
    const heard: unknown[] = [];
    const patient = tool('patient', 'once', async (_args, { signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      heard.push(signal.reason.code);
      throw new Error('gave up');
    });
    const kernel = await openKernel({ tools: [patient], images: [image(async (ctx) => ctx.tools.call('patient'))] });
    const pid = await kernel.processes.spawn({ image: 'body', capabilities: callAll });
    await eventually(async () => expect((await kernel.events.list({ types: ['tool.called'] })).items).toHaveLength(1));
    await kernel.processes.cancel(pid);
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'killed', outcome: { kind: 'cancelled' } });
    expect(heard).toEqual(['CANCELLED']);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

describe('the tools that come with the kernel', () => {
  it('spawn a child, wait for it, list it and signal it, as the process that calls', async () => {
    const child = defineImage({
      name: 'child',
      run: async (ctx) => ({ goal: (await ctx.memory.read(ctx.goal)).payload }),
    });
    const idle = defineImage({ name: 'idle', run: async (ctx) => ctx.sleep(60_000) });
    const body = image(async (ctx) => {
      const { pid } = (await ctx.tools.call('process.spawn', { image: 'child', goal: 'Look', name: 'eye' })) as Spawned;
      const ended = await ctx.tools.call('process.wait', { pid });
      const { pid: other } = (await ctx.tools.call('process.spawn', { image: 'idle' })) as Spawned;
      const waited = await ctx.tools.call('process.wait', { pid: other, timeoutMs: 10 });
      const signalled = await ctx.tools.call('process.signal', { pid: other, signal: 'kill' });
      const list = (await ctx.tools.call('process.list')) as { children: { status: string }[] };
      const stranger = await ctx.tools.call('process.wait', { pid: 'p_0' }).catch((error: KernelError) => error.code);
      return { ended, waited, signalled, statuses: list.children.map(({ status }) => status), stranger, pid, other };
    });
    const kernel = await openKernel({ images: [child, idle, body] });
    const pid = await kernel.processes.spawn({ image: 'body', capabilities: callAll });
    const { value } = await kernel.processes.result(pid);
    const { pid: first, other } = value as { pid: string; other: string };
    expect(value).toMatchObject({
      ended: { pid: first, ended: true, status: 'exited', outcome: 'completed', value: { goal: { text: 'Look' } } },
      waited: { pid: other, ended: false },
      signalled: { delivered: [other], alreadyTerminal: [] },
      statuses: ['exited', 'killed'],
      stranger: 'NOT_A_CHILD',
    });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('hand a child no more than the process could itself', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({ capabilities: callAll });
    const wide = { delegate: [{ resource: 'tool:**', rights: ['call'] }] };
    await expect(kernel.as(pid).tools.call('process.spawn', wide)).rejects.toMatchObject({ code: 'AMPLIFICATION' });
    expect(await kernel.processes.children(pid)).toEqual([]);
  });

  it('write, read and find objects', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({ capabilities: callAll });
    const { tools } = kernel.as(pid);
    const written = (await tools.call('memory.write', { name: 'plan', payload: { step: 1 }, tags: ['a'] })) as {
      object: string;
    };
    expect(await tools.call('memory.write', { name: 'plan', payload: { step: 2 } })).toEqual({
      ...written,
      name: 'plan',
    });
    expect(await tools.call('memory.read', { name: 'plan' })).toMatchObject({ payload: { step: 2 }, version: 2 });
    expect(await tools.call('memory.read', { object: written.object })).toMatchObject({ name: 'plan', tags: ['a'] });
    expect(await tools.call('memory.search', { tags: ['a'] })).toMatchObject({
      objects: [{ object: written.object, preview: '{"step":2}' }],
      more: false,
    });
    await expect(tools.call('memory.read', { object: 'o_0' })).rejects.toMatchObject({ code: 'NO_SUCH_OBJECT' });
    const other = await kernel.processes.spawn({ capabilities: callAll });
    const theirs = kernel.as(other).tools.call('memory.read', { object: written.object });
    await expect(theirs).rejects.toMatchObject({ code: 'NO_SUCH_OBJECT' });
  });

  it('send messages, tell the time and ask a person for authority', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({ capabilities: callAll });
    const child = await kernel.processes.spawnChild(pid);
    const { tools } = kernel.as(pid);
    expect(await tools.call('message.send', { to: child, message: { hello: 1 } })).toEqual({ sent: true });
    expect(await kernel.as(child).receive()).toMatchObject({ from: pid, body: { hello: 1 } });
    const stranger = await kernel.processes.spawn();
    await expect(tools.call('message.send', { to: stranger, message: 1 })).rejects.toMatchObject({
      code: 'CAPABILITY_DENIED',
    });
    const { now, iso } = (await tools.call('clock.now')) as { now: number; iso: string };
    expect(new Date(now).toISOString()).toBe(iso);
    const asking = tools.call('capability.request', { resource: 'fs:docs/**', rights: ['read'] });
    await eventually(async () => expect(await kernel.approvals.list()).toHaveLength(1));
    await kernel.approvals.answer((await kernel.approvals.list())[0]?.id ?? '', { decision: 'once', by: 'ann' });
    expect(await asking).toMatchObject({ resource: 'fs:docs/**', rights: ['read'] });
    expect((await kernel.capabilities.check(pid, 'read', 'fs:docs/a')).effect).toBe('allow');
  });

  it('run programs that the process may run, and keep no secret of their arguments', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store });
    const command = { resource: 'command:echo', rights: ['call' as const] };
    const pid = await kernel.processes.spawn({ capabilities: [...callAll, command] });
    const { tools } = kernel.as(pid);
    const argv = ['echo', '--token', 'hush-hush', 'hello'];
    expect(await tools.call('command.run', { argv })).toMatchObject({
      exitCode: 0,
      signal: null,
      stdout: '--token hush-hush hello\n',
      timedOut: false,
    });
    await expect(tools.call('command.run', { argv: ['ls'] })).rejects.toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { resource: 'command:ls' },
    });
    await kernel.capabilities.ask(pid, { resource: 'tool:command.run', rights: ['call'] });
    const asking = tools.call('command.run', { argv });
    await eventually(async () => expect(await kernel.approvals.list()).toHaveLength(1));
    const [approval] = await kernel.approvals.list();
    expect(approval?.args).toMatchObject({ argv: ['echo', '--token', '[redacted]', 'hello'] });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    expect(await asking).toMatchObject({ exitCode: 0 });
    const intents = (await kernel.audit.list({ action: 'tool.call' })).items.filter(
      ({ outcome }) => outcome === 'intent',
    );
    expect(intents[0]?.payload).toMatchObject({ args: { argv: ['echo', '--token', '[redacted]', 'hello'] } });
    await checkInvariants(kernel, store);
  });

  it('have schemas and descriptions that a model can read', async () => {
    const kernel = await openKernel();
    for (const { name, description, input } of kernel.tools.list()) {
      expect(description.length, name).toBeGreaterThan(15);
      expect(input, name).toMatchObject({ type: 'object', additionalProperties: false });
    }
  });
});

type Spawned = { pid: string };

function tool(name: string, effect: 'pure' | 'once', run: Tool['run']): Tool {
  return defineTool({ name, description: name, effect, input: {}, run: run as never });
}

function image(run: (ctx: Syscalls) => Promise<unknown>): Image {
  return defineImage({ name: 'body', run: run as never });
}

/** A store that several kernels open, one after another, with the same programs. */
async function place(tools: Tool[], images: Image[]): Promise<{ readonly store: string; open(): Promise<Kernel> }> {
  const store = await newStore();
  return {
    store,
    open: () => openKernel({ store, tools, images }),
  };
}
