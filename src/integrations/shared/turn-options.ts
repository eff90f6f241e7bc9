import { z } from 'zod';
import type { RetryPolicy } from '../../index.js';
import type { ModelUsage } from './model-usage.js';

/** Options of turns that every adapter has. */
export interface TurnOptions {
  /** The price of a turn in whole micro-USD. Without it only tokens are charged. */
  readonly cost?: (usage: ModelUsage) => number;
  /** The retries of temporary failures of the provider; default 3 attempts. */
  readonly retry?: RetryPolicy;
  /** How much of requests and answers is on record: nothing, hashes (the default), or all of it. */
  readonly record?: 'none' | 'hash' | 'full';
}

/** A function of a caller. */
export const functionSchema = <T>() => z.custom<T>((value) => typeof value === 'function', 'is not a function');

const retry = z.strictObject({
  attempts: z.number().int().min(1).max(1_000),
  baseMs: z.number().int().nonnegative().optional(),
  factor: z.number().min(1).optional(),
  maxMs: z.number().int().nonnegative().optional(),
  jitter: z.number().min(0).max(1).optional(),
  permanent: functionSchema<NonNullable<RetryPolicy['permanent']>>().optional(),
});

/** The schema of `TurnOptions`. */
export const turnOptions = z.strictObject({
  cost: functionSchema<(usage: ModelUsage) => number>().optional(),
  retry: retry.default({ attempts: 3, baseMs: 1_000, jitter: 0.5 }),
  record: z.enum(['none', 'hash', 'full']).default('hash'),
});
