import { type ModelUsage, type ReportedUsage, tokenCount } from '../../shared/model-usage.js';

type Counts = Record<'inputTokens' | 'outputTokens' | 'totalTokens' | 'cachedInputTokens', number | undefined> &
  ReportedUsage;

/** The numbers in a report: members of specification 2 are numbers, those of later ones have a `total`. */
export function countsIn(usage: unknown): Counts {
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens } = membersOf(usage);
  const cached = tokenCount(cachedInputTokens) ?? tokenCount(membersOf(inputTokens).cacheRead);
  return {
    inputTokens: tokenCount(inputTokens) ?? tokenCount(membersOf(inputTokens).total),
    outputTokens: tokenCount(outputTokens) ?? tokenCount(membersOf(outputTokens).total),
    totalTokens: tokenCount(totalTokens),
    cachedInputTokens: cached,
    inputTokenDetails: { cacheReadTokens: cached },
  };
}

/** A report in the form of a version of the specification. */
export function toReport(specificationVersion: string, usage: ModelUsage): object {
  const { inputTokens, cachedInputTokens, outputTokens } = usage;
  if (specificationVersion === 'v2') return usage;
  return {
    inputTokens: {
      total: inputTokens,
      noCache: inputTokens - cachedInputTokens,
      cacheRead: cachedInputTokens,
      cacheWrite: undefined,
    },
    outputTokens: { total: outputTokens, text: undefined, reasoning: undefined },
  };
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
