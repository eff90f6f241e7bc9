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

/** The usage that a provider reported; in each field that it did not report as a number of tokens, the estimate. */
export function usageFrom(reported: ReportedUsage, estimated: ModelUsage): ModelUsage {
  const inputTokens = tokenCount(reported.inputTokens) ?? estimated.inputTokens;
  const outputTokens = tokenCount(reported.outputTokens) ?? estimated.outputTokens;
  const totalTokens = tokenCount(reported.totalTokens) ?? 0;
  return {
    inputTokens,
    cachedInputTokens: Math.min(tokenCount(reported.inputTokenDetails?.cacheReadTokens) ?? 0, inputTokens),
    outputTokens,
    totalTokens: Math.max(totalTokens, inputTokens + outputTokens),
  };
}

/** A report of a provider, which may hold anything. */
export type ReportedUsage = {
  readonly [Field in 'inputTokens' | 'outputTokens' | 'totalTokens']?: unknown;
} & { readonly inputTokenDetails?: { readonly cacheReadTokens?: unknown } };

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

/** The number of tokens in a report; undefined for what is not a whole number of something. */
export function tokenCount(count: unknown): number | undefined {
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 0) return undefined;
  return Math.min(tokensMax, count);
}
