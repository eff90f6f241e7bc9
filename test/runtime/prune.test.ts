import { describe, expect, it } from 'vitest';
import { defineImage } from '../../src/index.js';
import { newStore, openKernel } from '../support/kernel.js';

const child = defineImage({ name: 'child', run: () => 'from the child' });
const parent = defineImage({
  name: 'parent',
  run: async (ctx) => {
    const { value } = await ctx.wait(await ctx.spawnChild({ image: 'child' }));
    await ctx.sleep(1_000);
    return value ?? null;
  },
});

describe('prune', () => {
  // A body that was run again after its child had been pruned failed with NOT_A_CHILD.
  it('leaves the children of a process whose body may be run again, and takes them with it', async () => {
    const store = await newStore();
    const before = await openKernel({ store, images: [child, parent] });
    const pid = await before.processes.spawn({ image: 'parent' });
    await before.idle();
    // The newest row always stays.
    await before.processes.spawn();
    expect(await before.processes.prune({ endedBefore: Date.now() + 1_000 })).toEqual({ pruned: 0 });
    await before.shutdown();

    const after = await openKernel({ store, images: [child, parent] });
    expect(await after.processes.result(pid)).toMatchObject({ status: 'exited', value: 'from the child' });
    expect(await after.processes.prune({ endedBefore: Date.now() + 1_000 })).toEqual({ pruned: 2 });
  });

  it('takes the ended children of a process that runs elsewhere', async () => {
    const kernel = await openKernel({ images: [child] });
    const root = await kernel.processes.spawn();
    await kernel.processes.result(await kernel.processes.spawnChild(root, { image: 'child' }));
    await kernel.processes.spawn();
    expect(await kernel.processes.prune({ endedBefore: Date.now() + 1_000 })).toEqual({ pruned: 1 });
  });
});
