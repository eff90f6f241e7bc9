/* A process spawns children, waits for all of them and uses their results. */
import { createKernel, defineImage, type Pid } from 'procura';
import { z } from 'zod';

const square = defineImage({
  name: 'square',
  input: z.object({ n: z.number() }),
  output: z.number(),
  run: (_ctx, { n }) => n * n,
});

const sumOfSquares = defineImage({
  name: 'sum-of-squares',
  input: z.object({ numbers: z.array(z.number()) }),
  output: z.number(),
  run: async (ctx, { numbers }) => {
    const children: Pid<number>[] = [];
    for (const n of numbers) children.push(await ctx.spawnChild({ image: square, args: { n } }));
    const results = await ctx.waitAll(children);
    return results.reduce((sum, { value }) => sum + (value ?? 0), 0);
  },
});

const kernel = await createKernel({ images: [square, sumOfSquares] });
const pid = await kernel.processes.spawn({ image: sumOfSquares, args: { numbers: [1, 2, 3] } });
console.log(`The sum is ${await kernel.processes.value(pid)}.`);
const children = await kernel.processes.children(pid);
console.log(children.map(({ image, status }) => `${image} ${status}`).join(', '));
await kernel.shutdown();
