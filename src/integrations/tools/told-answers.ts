import type { TurnPart } from '../../index.js';
import type { ToldTurn } from '../shared/told-turns.js';
import { callPart, type ToldResult, textPart } from '../shared/turn-parts.js';

/** Converts answers of Messages, Chat Completions and Responses to the parts that readers of the turns get. */
export function toldAnswer(answer: unknown): Omit<ToldTurn, 'usage'> {
  const { content, stop_reason: stopReason, choices, output, status } = membersOf(answer);
  const { message, finish_reason: finishReason } = membersOf(listOf(choices)[0]);
  const chat = membersOf(message);
  const parts = [
    ...listOf(content).flatMap(blockParts),
    ...[textPart('text', chat.content)].filter((part) => part !== undefined),
    ...listOf(chat.tool_calls).flatMap(chatCall),
    ...listOf(output).flatMap(itemParts),
  ];
  const reason = [stopReason, finishReason, status].find((text) => typeof text === 'string');
  return { parts, finishReason: reason as string | undefined };
}

/** Results of tools in a request, in the forms of these APIs. */
export function toldResults(request: unknown): ToldResult[] {
  const { messages, input } = membersOf(request);
  const fromMessages = listOf(messages).flatMap((message): ToldResult[] => {
    const { role, content, tool_call_id: id } = membersOf(message);
    return role === 'tool' ? [{ id, value: content }] : listOf(content).flatMap(blockResult);
  });
  const fromInput = listOf(input).flatMap((item): ToldResult[] => {
    const { type, call_id: id, output } = membersOf(item);
    return type === 'function_call_output' ? [{ id, value: output }] : [];
  });
  return [...fromMessages, ...fromInput];
}

function blockParts(block: unknown): TurnPart[] {
  const { type, text, thinking, id, name, input } = membersOf(block);
  if (type === 'tool_use') return [callPart(id, name, input)];
  const part = type === 'thinking' ? textPart('reasoning', thinking) : textPart('text', text);
  return part === undefined ? [] : [part];
}

function blockResult(block: unknown): ToldResult[] {
  const { type, tool_use_id: id, content: value, is_error: isError } = membersOf(block);
  return type === 'tool_result' ? [{ id, value, isError: isError === true }] : [];
}

function chatCall(call: unknown): TurnPart[] {
  const { id, function: requested } = membersOf(call);
  const { name, arguments: args } = membersOf(requested);
  return [callPart(id, name, args)];
}

function itemParts(item: unknown): TurnPart[] {
  const { type, content, summary, call_id: id, name, arguments: args } = membersOf(item);
  if (type === 'function_call') return [callPart(id, name, args)];
  const texts = type === 'reasoning' ? summary : content;
  return listOf(texts).flatMap((each) => {
    const part = textPart(type === 'reasoning' ? 'reasoning' : 'text', membersOf(each).text);
    return part === undefined ? [] : [part];
  });
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
