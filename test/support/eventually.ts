import { vi } from 'vitest';

/** Waits until `check` does not throw: long enough for a busy machine, and no longer than needed. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 20_000, interval: 10 });
}
