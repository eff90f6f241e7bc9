import { setTimeout as sleep } from 'node:timers/promises';
import { createKernel, defineImage, type Kernel } from '../../../src/index.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * A process whose step takes the program down, and one beside it that makes no call until the first has ended: it is lost
 * with it whenever both run. With `both`, the first waits for the second to begin.
 */
const [store = '', mayBothRun = ''] = process.argv.slice(2);

let hasBegun: () => void = () => undefined;
const neighbourBegan = new Promise<void>((resolve) => {
  hasBegun = resolve;
});
let kernel: Kernel | undefined;

const exploder = defineImage({
  name: 'exploder',
  run: async (ctx) => {
    await ctx.step('fine', () => 1);
    await ctx.step('explode', async () => {
      await (mayBothRun === 'both' ? neighbourBegan : Promise.race([neighbourBegan, sleep(500)]));
      process.kill(process.pid, 'SIGKILL');
      await new Promise(() => undefined);
    });
  },
});
const neighbour = defineImage({
  name: 'neighbour',
  run: async (ctx) => {
    print('neighbour');
    hasBegun();
    const bad = String(ctx.args);
    while ((await kernel?.processes.get(bad))?.status !== 'failed') await sleep(10);
    return 'survived';
  },
});

print('ready');
await nextLine();
kernel = await createKernel({ store, images: [exploder, neighbour] });
const bad = await kernel.processes.spawn({ id: 'exploder', image: 'exploder' });
const good = await kernel.processes.spawn({ id: 'neighbour', image: 'neighbour', args: bad });
const results = [await kernel.processes.result(bad), await kernel.processes.result(good)];
print(`result ${JSON.stringify(results.map(({ value, outcome }) => value ?? outcome))}`);
await kernel.shutdown();
stopListening();
