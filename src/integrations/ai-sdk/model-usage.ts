import type { LanguageModelUsage } from 'ai';

/** Tokens of one turn, or of all. Whole numbers. */
export type ModelUsage = {
  readonly inputTokens: number;
  /** Of the input, what the provider had kept from before. */
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
};

export const noUsage: ModelUsage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, totalTokens: 0 };

/** Of a text that nobody has counted. */
export function estimatedTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}
const charactersPerToken = 4;

/** What a provider reported; where it reported nothing, what was estimated. */
export function reportedUsage(reported: LanguageModelUsage, estimated: ModelUsage): ModelUsage {
  const { inputTokens, outputTokens, totalTokens, inputTokenDetails } = reported;
  if ((inputTokens ?? outputTokens ?? totalTokens) === undefined) return estimated;
  const [input, output] = [whole(inputTokens), whole(outputTokens)];
  return {
    inputTokens: input,
    cachedInputTokens: whole(inputTokenDetails?.cacheReadTokens),
    outputTokens: output,
    totalTokens: Math.max(whole(totalTokens), input + output),
  };
}

export function sumOf(a: ModelUsage, b: ModelUsage): ModelUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
  };
}

/** No provider has so many to give: what says more is not believed. */
const tokensMax = 1_000_000_000;

function whole(count: number | undefined): number {
  return Number.isFinite(count) ? Math.min(tokensMax, Math.max(0, Math.ceil(count ?? 0))) : 0;
}
