import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AuditRecord, defineImage, defineTool, type Kernel } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { gate } from '../support/gate.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, tempFolder } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

const keyedHash = expect.stringMatching(/^[0-9a-f]{64}$/);

async function find(kernel: Kernel, filter: object): Promise<AuditRecord> {
  const { items } = await kernel.audit.list(filter);
  const [record] = items;
  if (record === undefined) throw new Error('there is no such record');
  return record;
}

describe('the record of a birth', () => {
  const spec = {
    image: 'worker',
    args: { n: 1 },
    env: { MODE: 'fast' },
    labels: { team: 'sea' },
    owner: { session: 's1' },
    budget: { tokens: 5 },
    held: true,
    onBudget: 'cancel',
  } as const;
  const facts = {
    image: 'worker@1',
    argsHash: keyedHash,
    envHash: keyedHash,
    budget: { tokens: 5 },
  };
  const payload = { labels: { team: 'sea' }, owner: { session: 's1' } };

  it('tells what a process was spawned, forked and execed with', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn(spec);
    const flags = { held: true, onBudget: 'cancel' };
    expect(await find(kernel, { action: 'process.spawn', target: root })).toMatchObject({
      facts: { ...facts, flags },
      payload,
    });
    const child = await kernel.processes.spawnChild(root, { ...spec, onParentExit: 'reparent' });
    expect(await find(kernel, { action: 'process.spawnChild', target: child })).toMatchObject({
      facts: { ...facts, flags: { ...flags, onParentExit: 'reparent' } },
      payload,
    });
    const fork = await kernel.processes.fork(root, { ...spec, mode: 'copy' });
    const forked = await find(kernel, { action: 'process.fork', target: fork });
    expect(forked).toMatchObject({ facts: { ...facts, flags, mode: 'copy' }, payload });
    await kernel.processes.exec(root, { image: 'worker', args: { n: 2 }, preserveCapabilities: true });
    expect(await find(kernel, { action: 'process.exec', target: root })).toMatchObject({
      facts: { ...facts, flags: { preserveCapabilities: true } },
      payload,
    });
    expect((await kernel.audit.verify()).ok).toBe(true);
  });

  it('tells the working directory', async () => {
    const workspace = tempFolder();
    mkdirSync(join(workspace, 'notes'));
    const kernel = await openKernel({ workspace, node: { executor: false } });
    const pid = await kernel.processes.spawn({ cwd: 'notes' });
    expect(await find(kernel, { action: 'process.spawn', target: pid })).toMatchObject({ payload: { cwd: 'notes' } });
  });

  it('has no members that are not set', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const record = await find(kernel, { action: 'process.spawn', target: pid });
    expect(Object.keys(record.facts ?? {}).sort()).toEqual(['authority', 'capabilities', 'goal', 'image']);
    expect(record).not.toHaveProperty('payload');
  });
});

describe('the cause of a record', () => {
  it('is the step that a call of a body was made in', async () => {
    const image = defineImage({
      name: 'stepper',
      run: (ctx) => ctx.step('make', async () => void (await ctx.memory.create({ type: 'plan', payload: 1 }))),
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'stepper' });
    await kernel.processes.result(pid);
    const { id } = await find(kernel, { action: 'step.start', target: pid });
    expect((await find(kernel, { action: 'memory.create', target: pid })).cause).toBe(id);
    expect((await find(kernel, { action: 'step.complete', target: pid })).cause).toBe(id);
  });

  it('is the call of a tool, for its outcome and for what the tool does', async () => {
    const tool = defineTool({
      name: 'delegate',
      description: 'Spawns.',
      effect: 'once',
      input: {},
      run: async (_args, { process }) => process.spawnChild({ image: 'base' }),
    });
    const { kernel } = await kernelFixture({ tools: [tool] });
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:delegate', rights: ['call'] }] });
    const child = await kernel.as(pid).tools.call('delegate');
    const { items } = await kernel.audit.list({ action: 'tool.call', target: pid });
    const [intent, outcome] = items;
    expect([intent?.outcome, outcome?.outcome, outcome?.cause]).toEqual(['intent', 'ok', intent?.id]);
    expect((await find(kernel, { action: 'process.spawnChild', target: child })).cause).toBe(intent?.id);
  });

  it('is the answer of a person, also after a restart', async () => {
    const store = await newStore();
    const resource = 'tool:search';
    const first = (await kernelFixture({ store })).kernel;
    const pid = await first.processes.spawn({ capabilities: [{ resource, rights: ['call'] }] });
    await first.capabilities.ask(pid, { resource, rights: ['call'] });
    const asked = first.as(pid).capabilities.require('call', resource);
    await eventually(async () => expect(await first.approvals.list()).toHaveLength(1));
    const [approval] = await first.approvals.list();
    await first.approvals.answer(approval?.id ?? '', { decision: 'always', by: 'ann' });
    await asked;
    const { id } = await find(first, { action: 'approval.answer' });
    expect((await find(first, { action: 'capability.require', outcome: 'ok' })).cause).toBe(id);
    await first.shutdown();
    const again = (await kernelFixture({ store })).kernel;
    await again.as(pid).capabilities.require('call', resource);
    const { items } = await again.audit.list({ action: 'capability.require', outcome: 'ok' });
    expect(items.map(({ cause }) => cause)).toEqual([id, id]);
  });

  it('is the signal, for what it stops, ends, pauses and wakes', async () => {
    const image = defineImage({
      name: 'waiter',
      run: async (ctx) => {
        await ctx.waitSignal('user.go');
        await ctx.receive();
      },
    });
    const kernel = await openKernel({ images: [image] });
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, { image: 'waiter' });
    await eventually(async () => expect((await kernel.processes.get(child)).status).toBe('waiting'));
    await kernel.processes.signal(child, 'user.go');
    const sent = await find(kernel, { action: 'process.signal', target: child });
    const { items: woken } = await kernel.audit.list({ action: 'process.wake', target: child });
    expect(woken.map(({ cause }) => cause)).toContain(sent.id);
    await kernel.processes.pause(root);
    const { id: paused } = await find(kernel, { action: 'process.pause', target: root });
    expect((await find(kernel, { action: 'process.pause', target: child })).cause).toBe(paused);
    await kernel.processes.resume(root);
    await eventually(async () => expect((await kernel.processes.get(child)).status).toBe('waiting'));
    await kernel.processes.cancel(root);
    expect((await kernel.processes.result(child)).outcome).toEqual({ kind: 'cancelled', by: 'host' });
    const cancelled = await find(kernel, { action: 'process.cancel', target: root });
    expect(cancelled).not.toHaveProperty('cause');
    const stopped = await find(kernel, { action: 'process.cancel', target: child });
    expect(stopped.cause).toBe(cancelled.id);
    if (stopped.after === 'stopping') {
      expect((await find(kernel, { action: 'process.stop', target: child })).cause).toBe(stopped.id);
    }
    expect((await kernel.audit.verify()).ok).toBe(true);
  });

  it('is the signal, for its receipt and its refusal', async () => {
    const isNumber = { type: 'number' };
    const image = defineImage({
      name: 'counter',
      signals: { 'user.count': isNumber },
      run: async (ctx) => {
        const plain = await ctx.waitSignal('user.plain');
        const inStep = await ctx.step('wait', () => ctx.waitSignal('user.plain'));
        return [plain, inStep, await ctx.waitSignal('user.count')];
      },
    });
    const store = await newStore();
    // The sender knows no schema, so that the receiver refuses what does not fit.
    const known = defineImage({ name: 'counter', run: async () => undefined });
    const sender = await openKernel({ store, images: [known], node: { executor: false } });
    const pid = await sender.processes.spawn({ image: 'counter' });
    for (const payload of ['first', 'second']) await sender.processes.signal(pid, 'user.plain', { payload });
    for (const payload of ['no number', 3]) await sender.processes.signal(pid, 'user.count', { payload });
    const kernel = await openKernel({ store, images: [image] });
    expect((await kernel.processes.result(pid)).value).toEqual(['first', 'second', 3]);
    const { items: sent } = await kernel.audit.list({ action: 'process.signal', target: pid });
    const [first, second, misfit, third] = sent.map(({ id }) => id);
    const { items: received } = await kernel.audit.list({ action: 'process.waitSignal', target: pid });
    expect(received.map(({ cause }) => cause)).toEqual([first, second, third]);
    expect((await find(kernel, { action: 'signal.refuse', target: pid })).cause).toBe(misfit);
  });

  it('is the start of the run, for calls of a body outside of steps and for its end', async () => {
    const image = defineImage({
      name: 'plain',
      run: async (ctx) => {
        await ctx.memory.create({ type: 'plan', payload: 1 });
        await ctx.step('make', async () => undefined);
      },
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'plain' });
    await kernel.processes.result(pid);
    const start = await find(kernel, { action: 'process.start', target: pid });
    expect(start).not.toHaveProperty('cause');
    for (const action of ['memory.create', 'step.start', 'process.exit'])
      expect([action, (await find(kernel, { action, target: pid })).cause]).toEqual([action, start.id]);
  });

  it('is the start of the run that made the call, not that of an earlier one', async () => {
    const image = defineImage({
      name: 'twice',
      run: async (ctx) => {
        await ctx.memory.create({ type: 'plan', payload: 1 });
        await ctx.waitSignal('user.go');
        await ctx.memory.create({ type: 'task', payload: 2 });
      },
    });
    const store = await newStore();
    const first = await openKernel({ store, images: [image] });
    const pid = await first.processes.spawn({ image: 'twice' });
    await eventually(async () => expect((await first.processes.get(pid)).status).toBe('waiting'));
    await first.shutdown();
    const second = await openKernel({ store, images: [image] });
    await second.processes.signal(pid, 'user.go');
    await second.processes.result(pid);
    const { items: starts } = await second.audit.list({ action: 'process.start', target: pid });
    const { items: created } = await second.audit.list({ action: 'memory.create', target: pid });
    expect(starts).toHaveLength(2);
    expect(created.map(({ cause }) => cause)).toEqual(starts.map(({ id }) => id));
    expect((await find(second, { action: 'process.block', target: pid })).cause).toBe(starts[0]?.id);
  });

  it('is the intent, for an outcome that recovery writes', async () => {
    const begun = gate();
    const tool = defineTool({
      name: 'hang',
      description: 'Never returns.',
      effect: 'once',
      input: {},
      run: () => {
        begun.open();
        return new Promise<never>(() => undefined);
      },
    });
    const image = defineImage({ name: 'caller', run: (ctx) => ctx.tools.call('hang') });
    const store = await newStore();
    const first = await openKernel({ store, images: [image], tools: [tool] });
    const capabilities = [{ resource: 'tool:hang', rights: ['call' as const] }];
    const pid = await first.processes.spawn({ image: 'caller', capabilities });
    await begun.opened;
    await first.shutdown({ graceMs: 0 });
    const second = await openKernel({ store, node: { executor: false } });
    const { items } = await second.audit.list({ action: 'tool.call', target: pid });
    expect(items.map(({ outcome, cause }) => [outcome, cause])).toEqual([
      ['intent', (await find(second, { action: 'process.start', target: pid })).id],
      ['unknown', items[0]?.id],
    ]);
    await checkInvariants(second, store);
  });

  it('is the end of the parent', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, {});
    await kernel.processes.exit(root);
    const { id } = await find(kernel, { action: 'process.exit', target: root });
    expect((await find(kernel, { action: 'process.parentExit', target: child })).cause).toBe(id);
  });
});
