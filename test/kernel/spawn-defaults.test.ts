import { describe, expect, it } from 'vitest';
import { createKernel, defineImage, type KernelOptions } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { kernelFixture, worker } from '../support/kernel-fixture.js';

const idle = { node: { executor: false } };
const second = defineImage({ name: 'second', run: async () => null });

describe('createKernel({ defaults })', () => {
  it('gives a root the default image, limits and deadline where its spec has none', async () => {
    const defaults = { image: 'worker', budget: { tokens: 100, children: 3 }, deadlineMs: 60_000 };
    const { kernel } = await kernelFixture({ defaults });
    const record = await kernel.processes.get(await kernel.processes.spawn());
    expect(record).toMatchObject({ image: 'worker@1', budget: { tokens: 100, children: 3, depth: 64 } });
    expect(record.deadlineAt).toBe(record.createdAt + 60_000);
  });

  it('lets the spec of a root say otherwise, each limit by itself', async () => {
    const defaults = { image: 'worker', budget: { tokens: 100, children: 3, wallMs: 9_000 }, deadlineMs: 60_000 };
    const { kernel } = await kernelFixture({ defaults, images: [worker, second] });
    const spec = { image: 'second', budget: { tokens: 0, costMicros: 7, wallMs: 90_000 }, deadlineMs: 5_000 };
    const record = await kernel.processes.get(await kernel.processes.spawn(spec));
    expect(record).toMatchObject({
      image: 'second@1',
      budget: { tokens: 0, children: 3, costMicros: 7, wallMs: 90_000, depth: 64 },
    });
    expect(record.deadlineAt).toBe(record.createdAt + 5_000);
  });

  it('gives a default limit of wall time the force of a deadline', async () => {
    const { kernel } = await kernelFixture({ defaults: { budget: { wallMs: 9_000 } } });
    const { createdAt, deadlineAt } = await kernel.processes.get(await kernel.processes.spawn({}));
    expect(deadlineAt).toBe(createdAt + 9_000);
  });

  it('holds for roots only', async () => {
    const { kernel } = await kernelFixture({ defaults: { image: 'worker', budget: { tokens: 100 } } });
    const root = await kernel.processes.spawn({ image: 'base' });
    const child = await kernel.processes.spawnChild(root, { image: 'base' });
    const fork = await kernel.processes.fork(root, {});
    expect(await kernel.processes.get(child)).toMatchObject({ image: 'base@1', budget: {} });
    expect((await kernel.processes.get(child)).budget.tokens).toBeUndefined();
    expect(await kernel.processes.get(fork)).toMatchObject({ image: 'base@1' });
    expect((await kernel.processes.get(fork)).budget.tokens).toBeUndefined();
  });

  it('leaves a spawn with an id the same process when the default limits change', async () => {
    const store = await newStore();
    const open = (defaults: KernelOptions['defaults']) =>
      openKernel({ store, images: [worker], ...idle, ...(defaults === undefined ? {} : { defaults }) });
    const first = await open({ image: 'worker', budget: { tokens: 1 } });
    const pid = await first.processes.spawn({ id: 'main' });
    await first.shutdown();
    const again = await open({ image: 'worker', budget: { tokens: 2 }, deadlineMs: 1_000 });
    expect(await again.processes.spawn({ id: 'main' })).toBe(pid);
    expect((await again.processes.get(pid)).budget.tokens).toBe(1);
    await again.shutdown();
    const other = await open(undefined);
    expect(await refusal(other.processes.spawn({ id: 'main' }))).toMatchObject({ code: 'CONFLICT' });
  });

  it('refuses a spawn without an image when the default image is not registered', async () => {
    const { kernel, refused } = await kernelFixture({ defaults: { image: 'gone' } });
    expect(await refused(() => kernel.processes.spawn({}))).toMatchObject({ code: 'NO_SUCH_IMAGE' });
    expect(await kernel.processes.spawn({ image: 'base' })).toMatch(/^p_/);
  });

  it('refuses defaults that are none', async () => {
    const wrong: unknown[] = [
      { budget: { tokens: -1 } },
      { image: '' },
      { deadlineMs: 'long' },
      { labels: {} },
      'base',
    ];
    for (const defaults of wrong) {
      expect(await refusal(createKernel({ defaults } as KernelOptions)), JSON.stringify(defaults)).toMatchObject({
        code: 'INVALID_INPUT',
        facts: { path: expect.stringMatching(/^options\.defaults/) },
      });
    }
  });
});
