import { createKernel, KernelError } from '../../../src/index.js';
import { nextLine, print, stopListening } from './stdio.js';

/** Spawns so many children of a given parent all at once, and tells what came of it. */
const [store = '', count = '0'] = process.argv.slice(2);
print('ready');
const parent = await nextLine();
const kernel = await createKernel({ logger: 'silent', store, durability: 'normal' });
const calls = Array.from({ length: Number(count) }, () => kernel.processes.spawnChild(parent, {}));
const refused = new Set<string>();
for (const outcome of await Promise.allSettled(calls)) {
  if (outcome.status === 'rejected') {
    refused.add(outcome.reason instanceof KernelError ? outcome.reason.code : String(outcome.reason));
  }
}
print(`refused: ${[...refused].join()}`);
await kernel.shutdown();
stopListening();
