import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKernel, defineImage, type KernelError } from '../../../src/index.js';
import { nextLine, print } from './stdio.js';

/**
 * A node that takes what is runnable, tells every step that it runs, and what became of its runs. A step takes `ms`. If
 * `gate` is given, it ends only when there is a file of that name, or one that ends in the name of this node besides.
 */
const [store = '', name = '', leaseMs = '500'] = process.argv.slice(2);

const slow = defineImage<{ steps: number; ms: number; gate?: string }>({
  name: 'slow',
  run: async (ctx, { steps, ms, gate }) => {
    print(`began ${ctx.pid}`);
    try {
      for (let n = 1; n <= steps; n++) {
        await ctx.step(`step ${n}`, async () => {
          print(`step ${n} ${ctx.pid}`);
          await sleep(ms);
          while (gate !== undefined && !existsSync(gate) && !existsSync(`${gate}-${name}`)) await sleep(10);
        });
      }
      return name;
    } catch (error) {
      print(`${(error as KernelError).code} ${ctx.pid}`);
      throw error;
    }
  },
});
const never = defineImage({
  name: 'never-twice',
  recovery: 'fail',
  run: async (ctx) => {
    print(`began ${ctx.pid}`);
    await sleep(1_000_000);
  },
});

const kernel = await createKernel({
  logger: 'silent',
  store,
  images: [slow, never],
  node: { name, leaseMs: Number(leaseMs), concurrency: 4, pollMs: 20 },
});
print(`open ${kernel.nodeId}`);
for (;;) {
  const [command = '', spec = '{}'] = (await nextLine()).split(/ (.*)/);
  if (command === 'spawn') print(`spawned ${await kernel.processes.spawn(JSON.parse(spec))}`);
  // Also when nobody is there to say anything any more.
  if (command === 'stop' || command === '') break;
}
print(`stopped ${JSON.stringify(await kernel.shutdown())}`);
process.exit(0);
