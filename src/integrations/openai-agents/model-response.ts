import type { ModelResponse, StreamEvent } from '@openai/agents-core';
import type { JsonObject } from '../../index.js';
import type { AskedTurn } from '../shared/model-turn.js';
import { estimateTokens } from '../shared/model-usage.js';
import type { AgentsPackage } from './agents-package.js';

/** A response of a model as a step stores it. */
export type StoredResponse = JsonObject;

/** The response for the journal, with what its provider reports of its usage. */
export function toAskedTurn(response: ModelResponse): AskedTurn<StoredResponse> {
  const { inputTokens, outputTokens, totalTokens, inputTokensDetails } = usageIn(response);
  const [details] = [inputTokensDetails].flat();
  return {
    answer: JSON.parse(JSON.stringify(response)) as StoredResponse,
    reported: {
      inputTokens,
      outputTokens,
      totalTokens,
      inputTokenDetails: { cacheReadTokens: details?.cached_tokens },
    },
    outputTokens: estimateTokens(JSON.stringify(response.output)),
  };
}

/** Not every model reports its usage. */
function usageIn({
  usage,
}: {
  readonly usage?: Partial<ModelResponse['usage']> | null;
}): Partial<ModelResponse['usage']> {
  return typeof usage === 'object' && usage !== null ? usage : {};
}

/** The response that was stored. */
export function fromStored({ Usage }: AgentsPackage, stored: StoredResponse): ModelResponse {
  const response = stored as object as ModelResponse;
  return { ...response, usage: new Usage(response.usage as ConstructorParameters<typeof Usage>[0]) };
}

/** The events of a stream that gives a finished response. `id` stands for the id of a response that has none. */
export function* toStreamEvents(response: ModelResponse, id: string): Generator<StreamEvent> {
  yield { type: 'response_started' };
  for (const item of response.output) {
    if (item.type !== 'message' || item.role !== 'assistant') continue;
    for (const part of item.content) {
      if (part.type === 'output_text') yield { type: 'output_text_delta', delta: part.text, itemId: item.id };
    }
  }
  const { responseId = id, requestId, usage, output, providerData } = response;
  const { requests, inputTokens, outputTokens, totalTokens, inputTokensDetails, outputTokensDetails } = usage;
  const counts = { requests, inputTokens, outputTokens, totalTokens, inputTokensDetails, outputTokensDetails };
  const rest = { ...(requestId === undefined ? {} : { requestId }), ...(providerData ? { providerData } : {}) };
  yield { type: 'response_done', response: { id: responseId, usage: counts, output, ...rest } } as StreamEvent;
}
