/*
 * Spawns live processes, and tells what the heap of the program holds then beyond what it held before: the working set of the store,
 * and everything else that the kernel keeps of them. Run with --expose-gc.
 */
import { createKernel } from '../../dist/index.js';

const [store, state, count] = process.argv.slice(2);
const callers = 256;
/** The heap is looked at after each of so many parts; the largest counts. */
const samples = 10;

const kernel = await createKernel({
  store,
  state,
  durability: 'normal',
  logger: 'silent',
  node: { executor: false },
});
const root = await kernel.processes.spawn({ budget: { children: 100_000_000 } });

// What is loaded on the way is no memory of processes.
await spawnChildren(64);
const before = heapBytes();
let most = 0;
for (let sample = 0; sample < samples; sample++) {
  await spawnChildren(Number(count) / samples);
  most = Math.max(most, heapBytes() - before);
}
const { children } = await kernel.processes.budget(root);
console.log(JSON.stringify({ bytes: most, live: children.used }));
await kernel.shutdown();

async function spawnChildren(number) {
  let left = number;
  const spawn = async () => {
    while (left-- > 0) await kernel.processes.spawnChild(root, { goal: `part ${left}` });
  };
  await Promise.all(Array.from({ length: callers }, spawn));
}

function heapBytes() {
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
