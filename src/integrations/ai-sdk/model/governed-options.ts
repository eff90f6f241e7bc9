import { z } from 'zod';
import type { RetryPolicy } from '../../../index.js';
import type { ModelUsage } from '../../shared/model-usage.js';
import { parseInput } from '../../shared/parse-input.js';
import { functionSchema, turnOptions } from '../../shared/turn-options.js';
import { docsPage } from '../docs-page.js';
import type { CountTokens } from './token-estimate.js';

/** Options of `governedModel`. */
export interface GovernedModelOptions {
  /** Names the turns in the journal: `NAME 1`, `NAME 2` and so on; default `turn`. */
  readonly name?: string;
  /** The most tokens of an answer, where the call does not say. */
  readonly maxOutputTokens?: number;
  /** The price of a turn in whole micro-USD. Without it only tokens are charged. */
  readonly cost?: (usage: ModelUsage) => number;
  /** The retry policy for transient failures of the model; default 3 attempts. The delay that a provider asks for is kept. */
  readonly retry?: RetryPolicy;
  /** How much of requests and answers is on record: nothing, hashes (the default), or all of it. */
  readonly record?: 'none' | 'hash' | 'full';
  /** Counts tokens for the estimate of a request: its count and a tenth are set aside. Default: half of the bytes. */
  readonly countTokens?: CountTokens;
}

export const governedOptionsSchema = {
  maxOutputTokens: z.number().int().positive().max(1_000_000).optional(),
  ...turnOptions.shape,
  countTokens: functionSchema<CountTokens>().optional(),
};
const governedOptions = z.strictObject({ name: z.string().min(1).max(64).default('turn'), ...governedOptionsSchema });

/** The parsed options. */
export type GovernedSettings = z.output<typeof governedOptions>;

/** Throws INVALID_INPUT with the path. */
export function parseGovernedOptions(options: GovernedModelOptions): GovernedSettings {
  return parseInput(governedOptions, options, 'options', docsPage);
}
