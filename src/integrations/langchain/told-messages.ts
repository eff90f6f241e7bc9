import type { StoredMessage } from '@langchain/core/messages';
import type { TurnPart } from '../../index.js';
import type { ToldTurn } from '../shared/told-turns.js';
import { callPart, type ToldResult, textPart } from '../shared/turn-parts.js';

/** What a stored answer says, for readers of the turns. */
export function toldMessage({ data }: StoredMessage): Omit<ToldTurn, 'usage'> {
  const { content, tool_calls: calls, response_metadata: metadata } = data as StoredData;
  const blocks = Array.isArray(content) ? content : [{ type: 'text', text: content }];
  const texts = blocks.map(toTextPart).filter((part) => part !== undefined);
  const requested = Array.isArray(calls) ? calls : [];
  const reason = metadata?.finish_reason ?? metadata?.stop_reason;
  return {
    parts: [...texts, ...requested.map(({ id, name, args }) => callPart(id, name, args))],
    finishReason: typeof reason === 'string' ? reason : undefined,
  };
}

/** Results of tools among the messages of a request. */
export function toldResults(messages: readonly unknown[]): ToldResult[] {
  return messages.flatMap((message): ToldResult[] => {
    const { type, content, tool_call_id: id, status } = (message ?? {}) as ResultMessage;
    return type === 'tool' ? [{ id, value: content, isError: status === 'error' }] : [];
  });
}

/** Members of an answer, which a model may have filled with anything. */
interface StoredData {
  readonly content?: unknown;
  readonly tool_calls?: unknown;
  readonly response_metadata?: { readonly finish_reason?: unknown; readonly stop_reason?: unknown };
}

interface ResultMessage {
  readonly type?: unknown;
  readonly content?: unknown;
  readonly tool_call_id?: unknown;
  readonly status?: unknown;
}

function toTextPart(block: unknown): TurnPart | undefined {
  if (typeof block === 'string') return textPart('text', block);
  const { type, text, reasoning, thinking } = (block ?? {}) as Readonly<Record<string, unknown>>;
  if (type === 'reasoning' || type === 'thinking') return textPart('reasoning', reasoning ?? thinking);
  return type === 'text' ? textPart('text', text) : undefined;
}
