import { createKernel, defineImage } from '../../dist/index.js';

const square = defineImage({ name: 'square', run: (_ctx, { n }) => n * n });

/** Spawns a child, waits for it and uses its value. */
const parent = defineImage({ name: 'parent', run: async (ctx, { n }) => (await ctx.call(square, { n })) + 1 });

const step = defineImage({ name: 'step', run: (ctx, { n }) => ctx.step('square', () => n * n) });

/** A kernel on the file `store`, with an operation of each workload. */
export async function openLives(store, durability) {
  const kernel = await createKernel({ store, durability, images: [square, parent, step], logger: 'silent' });
  const workloads = {
    'parent-child': (n) => kernel.run(parent, { n }),
    step: (n) => kernel.run(step, { n }),
  };
  return { kernel, workloads };
}
