/* An image is a program for processes. Its schemas give the arguments and the result their types. */
import { createKernel, defineImage } from 'procura';
import { z } from 'zod';

const square = defineImage({
  name: 'square',
  input: z.object({ n: z.number() }),
  output: z.object({ square: z.number() }),
  run: (_ctx, { n }) => ({ square: n * n }),
});

const kernel = await createKernel();
const result = await kernel.run(square, { n: 3 });
console.log(`The square of 3 is ${result.square}.`);
await kernel.shutdown();
