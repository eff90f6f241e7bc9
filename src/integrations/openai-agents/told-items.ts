import type { AgentInputItem, ModelRequest } from '@openai/agents-core';
import type { TurnPart } from '../../index.js';
import type { ToldTurn } from '../shared/told-turns.js';
import { callPart, type ToldResult, textPart } from '../shared/turn-parts.js';
import type { StoredResponse } from './model-response.js';

/** What a stored response says, for readers of the turns. */
export function toldResponse({ output }: StoredResponse): Omit<ToldTurn, 'usage'> {
  const items = Array.isArray(output) ? (output as readonly object[]) : [];
  return { parts: items.flatMap(toParts) };
}

/** Results of tools in the input of a request. */
export function toldResults(input: ModelRequest['input']): ToldResult[] {
  if (typeof input === 'string') return [];
  return input.flatMap((item: AgentInputItem): ToldResult[] => {
    if (item.type !== 'function_call_result') return [];
    const { callId: id, output } = item;
    const isText = typeof output === 'object' && 'text' in output;
    return [{ id, value: isText ? output.text : output }];
  });
}

/** Members of items of an answer. */
interface Item {
  readonly type?: unknown;
  readonly content?: unknown;
  readonly callId?: unknown;
  readonly name?: unknown;
  readonly arguments?: unknown;
}

function toParts(item: Item): TurnPart[] {
  switch (item.type) {
    case 'message':
      return textsIn(item, 'text');
    case 'reasoning':
      return textsIn(item, 'reasoning');
    case 'function_call':
      return [callPart(item.callId, item.name, item.arguments)];
    default:
      // Tools that the provider runs have items of many types.
      return [];
  }
}

function textsIn({ content }: Item, type: 'text' | 'reasoning'): TurnPart[] {
  const pieces = Array.isArray(content) ? (content as readonly { readonly text?: unknown }[]) : [];
  return pieces.map(({ text }) => textPart(type, text)).filter((part) => part !== undefined);
}
