import { z } from 'zod';
import type { Syscalls } from '../../index.js';
import { toModelResource } from '../shared/model-resource.js';
import { estimateTurn, runModelTurn, type TurnLimits } from '../shared/model-turn.js';
import { estimateTokens, type ReportedUsage, tokenCount } from '../shared/model-usage.js';
import { parseInput } from '../shared/parse-input.js';
import { functionSchema, type TurnOptions, turnOptions } from '../shared/turn-options.js';
import { page } from './page.js';
import { toldAnswer, toldResults } from './told-answers.js';

/** A question to a model by any client. */
export interface DurableTurn<Answer> extends TurnOptions {
  /** The provider and the name of the model: the process needs `call` on `model:PROVIDER/NAME`. */
  readonly model: string;
  /** The request, by whose length its tokens are estimated, and which has the results of tools. */
  readonly input: unknown;
  /** Sends the request. The answer must be JSON; its `usage` is charged. */
  readonly ask: (limits: TurnLimits) => Promise<Answer>;
  /** The most tokens that the request allows for the answer; default 1,024. */
  readonly outputTokens?: number;
}

const durableTurnSpec = turnOptions.extend({
  model: z.string().regex(/^[^/]+\/.+$/, 'is not a provider and a name, such as anthropic/claude-sonnet-4-5'),
  input: z.unknown(),
  ask: functionSchema<DurableTurn<unknown>['ask']>(),
  outputTokens: z.number().int().positive().max(1_000_000).optional(),
});

/**
 * Asks a model as a step of the body: a rerun gets the stored answer, and neither asks nor pays again. Needs `call` on
 * `model:PROVIDER/NAME`, reserves before and charges what the `usage` of the answer says, as the APIs of Anthropic and OpenAI report
 * it. Throws INVALID_INPUT, CAPABILITY_DENIED, BUDGET_EXCEEDED, MODEL_FAILED.
 *
 * @example
 * const message = await durableTurn(ctx, {
 *   model: 'anthropic/claude-sonnet-4-5', input: request, ask: ({ signal }) => client.messages.create(request, { signal }),
 * });
 */
export async function durableTurn<Answer>(ctx: Syscalls, turn: DurableTurn<Answer>): Promise<Answer> {
  const { model, input, outputTokens, cost, retry, record } = parseInput(durableTurnSpec, turn, 'turn', page);
  const [provider = '', ...name] = model.split('/');
  const { answer } = await runModelTurn<Answer>(ctx, {
    name: 'turn',
    resource: toModelResource(provider, name.join('/')),
    estimated: estimateTurn(input, outputTokens),
    cost,
    retry,
    request: input,
    record,
    results: toldResults(input),
    tell: toldAnswer,
    ask: async (limits) => {
      const text = JSON.stringify(await turn.ask(limits));
      const stored = JSON.parse(text) as Answer & { readonly usage?: unknown };
      return { answer: stored, reported: usageIn(stored.usage), outputTokens: estimateTokens(text) };
    },
  });
  return answer;
}

/** Numbers of tokens as the APIs name them. */
interface ApiUsage {
  readonly input_tokens?: unknown;
  readonly output_tokens?: unknown;
  readonly total_tokens?: unknown;
  readonly prompt_tokens?: unknown;
  readonly completion_tokens?: unknown;
  readonly cache_read_input_tokens?: unknown;
  readonly cache_creation_input_tokens?: unknown;
  readonly prompt_tokens_details?: { readonly cached_tokens?: unknown } | null;
  readonly input_tokens_details?: { readonly cached_tokens?: unknown } | null;
}

function usageIn(reported: unknown): ReportedUsage {
  const usage: ApiUsage = typeof reported === 'object' && reported !== null ? reported : {};
  const details = usage.prompt_tokens_details ?? usage.input_tokens_details;
  const cacheRead = tokenCount(usage.cache_read_input_tokens);
  const input = tokenCount(usage.input_tokens ?? usage.prompt_tokens);
  // Anthropic does not count what the cache had among the tokens of the input.
  const beside = (cacheRead ?? 0) + (tokenCount(usage.cache_creation_input_tokens) ?? 0);
  return {
    inputTokens: input === undefined ? undefined : input + beside,
    outputTokens: usage.output_tokens ?? usage.completion_tokens,
    totalTokens: usage.total_tokens,
    inputTokenDetails: { cacheReadTokens: cacheRead ?? details?.cached_tokens },
  };
}
