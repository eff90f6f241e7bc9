import { z } from 'zod';
import type { Entropy } from '../../base/entropy.js';
import { KernelError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';

/** The number of tries of something that fails, and the delays between them. */
export interface RetryPolicy {
  /** The total number of tries. */
  readonly attempts: number;
  /** The delay before the second try; default 1,000. */
  readonly baseMs?: number | undefined;
  /** The ratio of each delay to the one before; default 2. */
  readonly factor?: number | undefined;
  /** The longest delay; default 60,000. */
  readonly maxMs?: number | undefined;
  /** The part of a delay that is random, 0 to 1; default 0. */
  readonly jitter?: number | undefined;
  /** Answers with true for an error that another try cannot help. */
  readonly permanent?: ((error: unknown) => boolean) | undefined;
}

export const retryPolicy = z.strictObject({
  attempts: z.number().int().min(1).max(1_000),
  baseMs: z.number().int().nonnegative().optional(),
  factor: z.number().min(1).optional(),
  maxMs: z.number().int().nonnegative().optional(),
  jitter: z.number().min(0).max(1).optional(),
  permanent: z.custom<RetryPolicy['permanent']>((value) => typeof value === 'function', 'is not a function').optional(),
});

/** One decision to try again. */
export interface RetryPlan {
  readonly delayMs: number;
  /** The keys of the calls that the attempt failed by. Their failures leave the journal, so that they are made again. */
  readonly droppedKeys: readonly string[];
}

/** The part of a policy that can be stored with the process: its function stays with the image. */
export function toStoredRetry({ permanent: _permanent, ...numbers }: RetryPolicy): JsonObject {
  return numbers as JsonObject;
}

/** The delay after the failure of `attempt`; undefined when it was the last one. `random` gives numbers from 0 to 1. */
export function retryDelayMs(
  policy: RetryPolicy | undefined,
  attempt: number,
  random: () => number,
): number | undefined {
  if (policy === undefined || attempt >= policy.attempts) return undefined;
  const { baseMs = 1_000, factor = 2, maxMs = 60_000, jitter = 0 } = policy;
  const delayMs = Math.min(maxMs, baseMs * factor ** (attempt - 1));
  return Math.round(delayMs * (1 - jitter * random()));
}

/** The delay that an error asks for with `retryAfterMs` in its facts; 0 for any other. At most an hour. */
export function retryAfterOf(error: unknown): number {
  const delayMs = error instanceof KernelError ? error.facts.retryAfterMs : undefined;
  return typeof delayMs === 'number' && Number.isSafeInteger(delayMs) ? Math.min(Math.max(0, delayMs), hourMs) : 0;
}
const hourMs = 3_600_000;

export function randomOf(entropy: Entropy): () => number {
  return () => (entropy.bytes(1)[0] ?? 0) / 256;
}

/** Whether the policy calls the error permanent. A `permanent` function that throws has not said so. */
export function isPermanent(policy: RetryPolicy | undefined, error: unknown): boolean {
  try {
    return policy?.permanent?.(error) === true;
  } catch {
    // The function belongs to the image.
    return false;
  }
}
