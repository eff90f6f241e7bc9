import type { AgentModel } from './agent-model.js';
import { type ReportedUsage, tokenCount } from './model-usage.js';

/** A model for one attempt, and the usage that its provider reported in it. */
export interface MeasuredModel {
  readonly model: AgentModel;
  /** False while no request was made: the SDK may refuse a model or a prompt before. */
  readonly wasAsked: () => boolean;
  /** Undefined until the provider has answered. */
  readonly reported: () => ReportedUsage | undefined;
}

/**
 * The same model, whose reports of usage hold numbers of tokens or nothing. The SDK adds the numbers up, and fails on a report
 * that is missing.
 */
export function measureUsage(model: AgentModel): MeasuredModel {
  let asked = false;
  let reported: ReportedUsage | undefined;
  const generate = async (...options: Parameters<AgentModel['doGenerate']>) => {
    asked = true;
    const answer = (await model.doGenerate(...(options as [never]))) as { readonly usage?: unknown };
    const counts = countsIn(answer.usage);
    reported = counts;
    return { ...answer, usage: model.specificationVersion === 'v2' ? counts : nestedUsage(counts) };
  };
  const proxy = new Proxy(model, {
    get: (target, key) => {
      if (key === 'doGenerate') return generate;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { model: proxy, wasAsked: () => asked, reported: () => reported };
}

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

function nestedUsage({ inputTokens, outputTokens, cachedInputTokens }: Counts) {
  return {
    inputTokens: { total: inputTokens, noCache: undefined, cacheRead: cachedInputTokens, cacheWrite: undefined },
    outputTokens: { total: outputTokens, text: undefined, reasoning: undefined },
  };
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
