import { vi } from 'vitest';

/** Waits until `check` holds: long enough for a machine that does much else, and no longer than needed. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 20_000, interval: 10 });
}
