import { createKernel, defineImage } from '../../dist/index.js';

const square = defineImage({ name: 'square', run: (_ctx, { n }) => n * n });

/** Spawns a child, waits for it and uses its value. */
const parent = defineImage({ name: 'parent', run: async (ctx, { n }) => (await ctx.call(square, { n })) + 1 });

const step = defineImage({ name: 'step', run: (ctx, { n }) => ctx.step('square', () => n * n) });

/** A kernel on `store`, with an operation of each workload; `options` are those of the kernel. */
export async function openLives(store, options) {
  const kernel = await createKernel({ store, ...options, images: [square, parent, step], logger: 'silent' });
  const workloads = {
    'parent-child': (n) => kernel.run(parent, { n }),
    step: (n) => kernel.run(step, { n }),
    spawn: spawnerOn(kernel),
  };
  return { kernel, workloads };
}

const tool = { resource: 'tool:search', rights: ['call'] };

/** Spawns children without a body, each with a goal and one delegated capability. */
function spawnerOn(kernel) {
  const capabilities = [{ ...tool, delegable: true }];
  let lead;
  return async (n) => {
    lead ??= kernel.processes.spawn({ budget: { children: 100_000_000 }, capabilities });
    return kernel.processes.spawnChild(await lead, { goal: `part ${n}`, delegate: [{ ...tool }] });
  };
}
