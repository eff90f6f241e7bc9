import type { JsonObject, JsonValue, TurnPart } from '../../index.js';
import { toStorable } from './storable.js';

/** For a call or a tool that a model does not name. */
const unnamed = '?';
/** Of a longer result, readers of the turns get the beginning; an object of the process has all of it. */
const resultCharsMax = 65_536;
/** Of all results of a turn, which one commit has to take. */
const resultsCharsMax = 1_000_000;

/** The result of a call, as a model is told it. */
export interface ToldResult {
  /** The model's id of the call. */
  readonly id: unknown;
  readonly value?: unknown;
  readonly isError?: boolean;
}

/** A text of an answer; undefined for one that says nothing. */
export function textPart(type: 'text' | 'reasoning', text: unknown): TurnPart | undefined {
  return typeof text !== 'string' || text === '' ? undefined : { type, text: text.toWellFormed() };
}

/** A call that an answer requests. `args` may be their text as JSON. */
export function callPart(id: unknown, tool: unknown, args: unknown): TurnPart {
  return { type: 'tool-call', id: toCallId(id), tool: toToolName(tool), args: argumentsIn(args) };
}

/** One of `count` results of a turn. A refusal of the kernel is an error, in whatever form the model reads it. */
export function resultPart({ id, value, isError = false }: ToldResult, tool: unknown, count: number): TurnPart {
  const result = toStorable(value ?? null) as JsonValue;
  const text = JSON.stringify(result);
  const charsMax = Math.min(resultCharsMax, Math.floor(resultsCharsMax / count));
  return {
    type: 'tool-result',
    id: toCallId(id),
    tool: toToolName(tool),
    result: text.length <= charsMax ? result : text.slice(0, charsMax).toWellFormed(),
    ...(isError || isRefusal(result) ? { isError: true } : {}),
  };
}

export function toCallId(id: unknown): string {
  return textIn(id).slice(0, 512) || unnamed;
}

export function toToolName(name: unknown): string {
  return textIn(name).slice(0, 256) || unnamed;
}

/** The arguments of a call, which come as JSON; a text that is no JSON as it is. */
export function argumentsIn(input: unknown): JsonValue {
  if (typeof input !== 'string') return toStorable(input ?? {}) as JsonObject;
  try {
    return input.trim() === '' ? {} : (toStorable(JSON.parse(input)) as JsonValue);
  } catch {
    return input.toWellFormed();
  }
}

function textIn(value: unknown): string {
  return String(value ?? '').toWellFormed();
}

/** Whether it is a `ToolErrorValue`, or the text of one. */
function isRefusal(result: JsonValue): boolean {
  const { error, ...others } = membersOf(typeof result === 'string' ? parseObject(result) : result);
  const { code, message, hint, ...rest } = membersOf(error ?? null);
  const isWorded = [code, message, hint].every((text) => typeof text === 'string');
  return isWorded && Object.keys(others).length === 0 && Object.keys(rest).every((key) => key === 'missing');
}

function parseObject(text: string): JsonValue {
  if (!text.startsWith('{"error"')) return null;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // It was cut, or only looks like JSON.
    return null;
  }
}

function membersOf(value: JsonValue): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
