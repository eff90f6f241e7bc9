import type { LanguageModelUsage } from 'ai';

/** Tokens of one turn, or of all turns. Whole numbers. */
export type ModelUsage = {
  readonly inputTokens: number;
  /** The part of the input that the provider read from its cache. */
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
};

export const noUsage: ModelUsage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, totalTokens: 0 };

/** A rough number of tokens, by the length of the text. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}
const charactersPerToken = 4;

/** The usage that a provider reported; the estimate where it reported nothing. */
export function usageFrom(reported: LanguageModelUsage, estimated: ModelUsage): ModelUsage {
  const { inputTokens, outputTokens, totalTokens, inputTokenDetails } = reported;
  if ((inputTokens ?? outputTokens ?? totalTokens) === undefined) return estimated;
  const [input, output] = [toWholeNumber(inputTokens), toWholeNumber(outputTokens)];
  return {
    inputTokens: input,
    cachedInputTokens: toWholeNumber(inputTokenDetails?.cacheReadTokens),
    outputTokens: output,
    totalTokens: Math.max(toWholeNumber(totalTokens), input + output),
  };
}

export function sumUsage(a: ModelUsage, b: ModelUsage): ModelUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
  };
}

/** A limit against absurd reports: no turn takes so many tokens. */
const tokensMax = 1_000_000_000;

function toWholeNumber(count: number | undefined): number {
  return Number.isFinite(count) ? Math.min(tokensMax, Math.max(0, Math.ceil(count ?? 0))) : 0;
}
