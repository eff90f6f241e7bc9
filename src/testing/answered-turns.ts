import { isDeepStrictEqual } from 'node:util';
import type { PromptMessage, PromptPart } from './model-specification.js';
import type { ScriptedTurn, TurnSource } from './scripted-turn.js';

/** The number of turns at the beginning of a script that a conversation contains the answers of, or was past. */
export function countAnswered(turns: readonly TurnSource[], prompt: readonly PromptMessage[]): number {
  let answered = 0;
  for (const { role, content } of prompt) {
    if (role !== 'assistant') continue;
    const next = skipErrors(turns, answered);
    const turn = turns[next];
    if (turn !== undefined && isAnswer(turn, content)) answered = next + 1;
  }
  return answered;
}

/** A turn that throws leaves no message in the conversation. */
function skipErrors(turns: readonly TurnSource[], from: number): number {
  const index = turns.findIndex((turn, position) => position >= from && !isError(turn));
  return index < 0 ? turns.length : index;
}

function isError(turn: TurnSource): boolean {
  return typeof turn === 'object' && 'error' in turn;
}

/** Whether a message of the assistant is the answer of the turn. Of a function nobody knows what it would answer. */
function isAnswer(turn: TurnSource, content: PromptMessage['content']): boolean {
  if (typeof turn === 'function') return true;
  const parts: readonly PromptPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const calls = parts.filter(({ type }) => type === 'tool-call');
  const expected = partsOf(turn);
  return (
    text === expected.text &&
    calls.length === expected.toolCalls.length &&
    expected.toolCalls.every(({ args = {} }, index) => isDeepStrictEqual(toPlain(calls[index]?.input), toPlain(args)))
  );
}

function partsOf(turn: ScriptedTurn) {
  const parts = typeof turn === 'string' ? { text: turn } : turn;
  const { text = '', toolCalls = [] } = 'error' in parts ? {} : parts;
  return { text, toolCalls };
}

/** As JSON gives it back. */
function toPlain(value: unknown): unknown {
  if (typeof value !== 'string') return JSON.parse(JSON.stringify(value ?? null));
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
