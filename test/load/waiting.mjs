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

async function spawnWaiters(number) {
  const pids = Array.from({ length: number }, () => kernel.processes.spawnChild(root, { image: 'waiter' }));
  await Promise.all(pids);
  await kernel.idle();
  return pids;
}

// What is loaded and compiled on the way is no memory of processes.
for (const pid of await spawnWaiters(500)) await kernel.processes.kill(await pid);
const before = await heapBytes();
await spawnWaiters(Number(count));
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
