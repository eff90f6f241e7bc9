import type { JsonObject, JsonValue, Syscalls } from '../../../index.js';
import { type ModelUsage, usageFrom } from '../../shared/model-usage.js';
import { toStorable } from '../../shared/storable.js';
import type { ModelAnswer, ModelPart } from './model-call.js';
import { countsIn } from './reported-usage.js';
import { storeFiles } from './stored-files.js';

/** The answer of a model as its step stores it. */
export type StoredAnswer = {
  readonly content: readonly ModelPart[];
  readonly finishReason: JsonValue;
  /** Of the answer itself: as reported, estimated in each field that holds no number of tokens. */
  readonly usage: ModelUsage;
  /** Of the answer and of the attempts that failed before it. */
  readonly charged: ModelUsage;
  readonly providerMetadata?: JsonObject;
  readonly warnings: readonly JsonValue[];
  readonly response: { readonly id?: string; readonly modelId?: string; readonly timestamp?: string };
};

/** The answer without request and response bodies and headers, which may hold keys. */
export async function toStoredAnswer(
  ctx: Syscalls,
  answer: ModelAnswer,
  estimated: ModelUsage,
): Promise<Omit<StoredAnswer, 'charged'>> {
  const content = toStorable(await storeFiles(ctx, answer.content));
  const outputTokens = Math.max(estimated.outputTokens, answerTokens(content));
  const metadata = toStorable(answer.providerMetadata) as JsonObject | undefined;
  return {
    content,
    finishReason: toStorable(answer.finishReason ?? null) as JsonValue,
    usage: usageFrom(countsIn(answer.usage), { ...estimated, outputTokens }),
    ...(metadata === undefined || metadata === null ? {} : { providerMetadata: metadata }),
    warnings: Array.isArray(answer.warnings) ? (toStorable(answer.warnings) as JsonValue[]) : [],
    response: responseOf(answer.response),
  };
}

function responseOf(response: unknown): StoredAnswer['response'] {
  const { id, modelId, timestamp } = (response ?? {}) as Record<string, unknown>;
  return {
    ...(typeof id === 'string' ? { id: id.toWellFormed() } : {}),
    ...(typeof modelId === 'string' ? { modelId: modelId.toWellFormed() } : {}),
    ...(timestamp instanceof Date && !Number.isNaN(timestamp.getTime()) ? { timestamp: timestamp.toJSON() } : {}),
  };
}

/** The reason as one word, in every version of the specification. */
export function finishReasonOf(finishReason: unknown): string {
  if (typeof finishReason === 'string') return finishReason;
  const { unified } = (finishReason ?? {}) as { readonly unified?: unknown };
  return typeof unified === 'string' ? unified : 'other';
}

const charsPerToken = 4;

/** A rough number of tokens of the answer itself. */
function answerTokens(content: readonly ModelPart[]): number {
  const chars = content.reduce((sum, { text, input }) => sum + lengthOf(text) + lengthOf(input), 0);
  return Math.ceil(chars / charsPerToken);
}

function lengthOf(value: unknown): number {
  if (value === undefined) return 0;
  return typeof value === 'string' ? value.length : JSON.stringify(value).length;
}
