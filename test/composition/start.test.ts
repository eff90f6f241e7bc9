import { describe, expect, it } from 'vitest';
import { commandImage, createKernel, defineImage } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

const worker = defineImage({ name: 'worker', run: async (ctx) => ctx.step('ran', () => 'ran') });
const say = commandImage({ name: 'say', command: 'echo', args: ['hello'] });

describe('a kernel that is started later', () => {
  it('claims nothing before it is started, and everything from then on', async () => {
    const store = await newStore();
    const before = await openKernel({ store, images: [worker, say], node: { executor: false } });
    const old = await before.processes.spawn({ image: 'worker' });
    const kernel = await openKernel({ store, node: { start: false } });
    kernel.images.register(worker);
    kernel.images.register(say);
    const fresh = await kernel.processes.spawn({ image: 'worker' });
    const command = await kernel.processes.spawn({ image: 'say' });
    expect((await kernel.events.list({ types: ['process.started'] })).items).toEqual([]);
    for (const pid of [old, fresh]) expect((await kernel.processes.get(pid)).status).toBe('runnable');
    expect((await kernel.processes.get(command)).status).toBe('created');
    await Promise.all([kernel.start(), kernel.start()]);
    for (const pid of [old, fresh, command]) expect((await kernel.processes.result(pid)).status).toBe('exited');
    await kernel.start();
    const later = await kernel.processes.spawn({ image: 'worker' });
    expect((await kernel.processes.result(later)).value).toBe('ran');
  });

  it('recovers, and stops what is past its deadline, before it is started', async () => {
    const kernel = await openKernel({ images: [worker], node: { start: false } });
    const pid = await kernel.processes.spawn({ image: 'worker', deadlineMs: 10 });
    expect((await kernel.processes.result(pid)).outcome.kind).toBe('timed_out');
  });

  it('can be shut down without having been started', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, images: [worker], node: { start: false } });
    const pid = await kernel.processes.spawn({ image: 'worker' });
    expect(await kernel.shutdown()).toMatchObject({ released: [], fenced: [] });
    expect(await refusal(kernel.start())).toMatchObject({ code: 'KERNEL_CLOSED' });
    const next = await openKernel({ store, images: [worker] });
    expect((await next.processes.result(pid)).status).toBe('exited');
  });
});

it('start does nothing to a kernel that has started, and is refused by one that runs no processes', async () => {
  const store = await newStore();
  await (await openKernel({ store })).start();
  const idle = await openKernel({ store, node: { executor: false } });
  expect(await refusal(idle.start())).toMatchObject({ code: 'INVALID_INPUT' });
  const reader = await openKernel({ store, readOnly: true });
  expect(await refusal(reader.start())).toMatchObject({ code: 'INVALID_INPUT' });
  expect(await refusal(createKernel({ node: { start: 1 as never } }))).toMatchObject({ code: 'INVALID_INPUT' });
});
