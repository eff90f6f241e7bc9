import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** Runs bodies that wait, and prints how much memory they take and how many records are written meanwhile. */
const [library = '', store = '', count = '0'] = process.argv.slice(2);
const { createKernel, defineImage } = await import(pathToFileURL(library).href);
const waiter = defineImage({ name: 'waiter', run: async (ctx) => void (await ctx.receive()) });
const kernel = await createKernel({ logger: 'silent', store, durability: 'normal', images: [waiter] });
const root = await kernel.processes.spawn({});

async function heapBytes() {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await sleep(50);
  }
  return process.memoryUsage().heapUsed;
}

const before = await heapBytes();
await Promise.all(Array.from({ length: Number(count) }, () => kernel.processes.spawnChild(root, { image: 'waiter' })));
await kernel.idle();
const { items } = await kernel.processes.list({ status: 'waiting', limit: 10_000 });
console.log(`waiting ${items.length}`);
items.length = 0;
console.log(`bytes ${(await heapBytes()) - before}`);
const size = async () => (await kernel.audit.checkpoint()).size;
const from = await size();
await sleep(1_500);
console.log(`records ${(await size()) - from}`);
const { released } = await kernel.shutdown();
console.log(`released ${released.length}`);
