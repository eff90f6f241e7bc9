import { existsSync } from 'node:fs';
import { createKernel, defineImage, type KernelError } from '../../../src/index.js';
import { nextLine, print } from './stdio.js';

/**
 * A node whose processes write all the time, in every way in which a body can, until there is a file that is named for it. It tells
 * what became of its runs.
 */
const [store = '', name = '', leaseMs = '', gate = ''] = process.argv.slice(2);

const busy = defineImage({
  name: 'busy',
  run: async (ctx) => {
    print(`began ${ctx.pid}`);
    try {
      for (let round = 0; !(await ctx.step('look', () => existsSync(`${gate}-${name}`))); round++) {
        const note = await ctx.memory.create({ type: 'plan', payload: { round }, immutable: false });
        await ctx.step(`round ${round}`, async () => void (await ctx.memory.update(note, { round: -round })));
        await ctx.charge({ tokens: 1 });
        await ctx.log(`round ${round}`);
        const child = await ctx.spawnChild({ image: 'base' });
        await ctx.send(child, { note });
        await ctx.cancel(child);
        await ctx.wait(child);
        await ctx.sleep(1);
        print(`round ${round} ${ctx.pid}`);
      }
      return name;
    } catch (error) {
      print(`${(error as KernelError).code} ${ctx.pid}`);
      throw error;
    }
  },
});
const own = defineImage({ name: 'own', run: async () => name });

const kernel = await createKernel({
  logger: 'silent',
  store,
  images: [busy, own],
  node: { name, leaseMs: Number(leaseMs), pollMs: 20, queues: ['default', name] },
});
print(`open ${kernel.nodeId}`);
await nextLine();
await kernel.shutdown();
process.exit(0);
