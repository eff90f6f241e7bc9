/* Procura, as the package that `npm run build` makes. */
import { join } from 'node:path';
import { openLives } from './lives.mjs';
import { serve } from './serve.mjs';

await serve(async ({ folder, durability }) => {
  const { kernel, workloads } = await openLives(join(folder, 'procura.db'), durability);
  return { workloads, facts: {}, close: () => kernel.shutdown() };
});
