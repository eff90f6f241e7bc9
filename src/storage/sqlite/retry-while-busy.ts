import { performance } from 'node:perf_hooks';
import { backoff } from './file-lock.js';
import { isBusy } from './sqlite-errors.js';

/** How long anybody waits for a file that others write to. */
export const busyMs = 5_000;

/** Calls `work` again while the file is busy, for 5 seconds at most. */
export async function retryWhileBusy<T>(work: () => T): Promise<T> {
  const until = performance.now() + busyMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      await backoff(attempt);
    }
  }
}
