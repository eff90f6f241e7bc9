import { StoreError } from '../../src/index.js';

/**
 * Makes a call again as long as the store refuses it and says that nothing of it was kept, as on a machine where this program
 * stands still in the middle of its transactions.
 */
export async function untilStored<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreError) || !error.retryable) throw error;
    }
  }
}
