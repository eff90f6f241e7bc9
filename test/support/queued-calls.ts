import type { Kernel } from '../../src/index.js';

/** More than the units that any one call has before it waits for something. */
const rounds = 20;

/**
 * Resolves when the calls that were made before have done what they can do at once, and wait or have ended: units run in
 * the order in which they are asked for, and each of these reads comes after the ones before it.
 */
export async function queuedCalls(kernel: Kernel): Promise<void> {
  for (let round = 0; round < rounds; round++) await kernel.processes.list({ limit: 1 });
}
