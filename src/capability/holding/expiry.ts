import { invalidInput } from '../../base/errors.js';

/** Throws INVALID_INPUT for authority, or a rule, that would have expired before it exists. */
export function assertNotExpired(
  { expiresAt }: { readonly expiresAt?: number | null | undefined },
  now: number,
  path = 'spec',
): void {
  if (expiresAt === undefined || expiresAt === null || expiresAt > now) return;
  const hint = "Give a later time, in epoch milliseconds; the kernel's time may be ahead of the machine's clock.";
  throw invalidInput(`${path}.expiresAt`, 'has passed already', hint, { expiresAt, now });
}
