import { describe, expect, it } from 'vitest';
import { defineImage, type Kernel, type Pid } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { openRawTables } from '../support/storage/raw-tables.js';

const quick = defineImage({ name: 'quick', run: async () => 'done' });
const waiter = defineImage({ name: 'waiter', run: async (ctx) => void (await ctx.receive()) });

async function spawnRecord(kernel: Kernel, pid: Pid) {
  const { items } = await kernel.audit.list({ target: pid });
  return items.find(({ action }) => action === 'process.spawn' || action === 'process.spawnChild');
}

async function eventTypes(kernel: Kernel, pid: Pid): Promise<string[]> {
  const { items } = await kernel.events.list({ pid });
  return items.map(({ type }) => type);
}

describe('a process that is spawned on a node with a free slot', () => {
  it('is running when the spawn is answered, and its spawn tells by whom it was started', async () => {
    const kernel = await openKernel({ images: [waiter] });
    const pid = await kernel.processes.spawn({ image: 'waiter' });
    const started = (await kernel.audit.list({ action: 'process.start', target: pid })).items[0];
    expect(await spawnRecord(kernel, pid)).toMatchObject({
      facts: { started: { node: started?.facts?.node, attempt: 1, fence: 1 } },
    });
    expect((await eventTypes(kernel, pid)).slice(0, 2)).toEqual(['process.spawned', 'process.started']);
  });

  it('is left to another node where this one has no slot, and starts when there is one', async () => {
    const kernel = await openKernel({ images: [quick, waiter], node: { concurrency: 1 } });
    const busy = defineImage({ name: 'busy', run: async (ctx) => ctx.step('long', () => released) });
    let release: (value: string) => void = () => undefined;
    const released = new Promise<string>((resolve) => {
      release = resolve;
    });
    const first = await kernel.processes.spawn({ image: busy });
    const second = await kernel.processes.spawn({ image: 'quick' });
    expect((await kernel.processes.get(second)).status).toBe('runnable');
    expect((await spawnRecord(kernel, second))?.facts).not.toHaveProperty('started');
    release('over');
    expect(await kernel.processes.value(first)).toBe('over');
    expect(await kernel.processes.value(second)).toBe('done');
  });

  it('is not started where it is held, where no executor is, or with a seed', async () => {
    const held = await openKernel({ images: [quick] });
    expect((await held.processes.get(await held.processes.spawn({ image: 'quick', held: true }))).status).toBe(
      'paused',
    );
    const host = await openKernel({ images: [quick], node: { executor: false } });
    expect((await host.processes.get(await host.processes.spawn({ image: 'quick' }))).status).toBe('runnable');
    const seeded = await openKernel({ images: [quick], seed: 'a' });
    const pid = await seeded.processes.spawn({ image: 'quick' });
    expect(await seeded.processes.value(pid)).toBe('done');
    expect((await spawnRecord(seeded, pid))?.facts).not.toHaveProperty('started');
  });

  it('gives its slot back when the spawn is refused', async () => {
    const kernel = await openKernel({ images: [quick], node: { concurrency: 1 } });
    const root = await kernel.processes.spawn({ budget: { children: 1 } });
    const child = { image: 'quick' } as const;
    expect(await kernel.processes.value(await kernel.processes.spawnChild(root, child))).toBe('done');
    await kernel.processes.spawnChild(root, { image: 'base' });
    for (let round = 0; round < 3; round++) {
      expect(await refusal(kernel.processes.spawnChild(root, child))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    }
    const other = await kernel.processes.spawn({ image: 'quick' });
    expect(await kernel.processes.value(other)).toBe('done');
  });

  it('gives its slot back when the commit of the spawn fails', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, images: [quick], node: { concurrency: 1 } });
    const refused = await openRawTables(store).refuse('INSERT', 'views');
    for (let round = 0; round < 3; round++) {
      await expect(kernel.processes.spawn({ image: 'quick' })).rejects.toThrow();
    }
    await refused[Symbol.asyncDispose]();
    expect(await kernel.processes.value(await kernel.processes.spawn({ image: 'quick' }))).toBe('done');
  });
});
