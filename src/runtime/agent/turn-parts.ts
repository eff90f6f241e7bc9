import { z } from 'zod';
import { type InputError, invalidInput } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { amount, parseSpec, specLimits } from '../../base/spec.js';
import type { Reply, TurnPart } from './agent-part.js';

const id = z.string().min(1).max(512);
const tool = z.string().min(1).max(256);
const json = z.custom<JsonValue>((value) => value !== undefined, 'is missing');

const usage = z.strictObject({
  inputTokens: amount,
  cachedInputTokens: amount.optional(),
  outputTokens: amount,
  totalTokens: amount,
});

const turnPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('turn-start') }),
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('reasoning'), text: z.string() }),
  z.strictObject({ type: z.literal('tool-call'), id, tool, args: json.optional(), delta: z.string().optional() }),
  z.strictObject({ type: z.literal('tool-result'), id, tool, result: json, isError: z.boolean().optional() }),
  z.strictObject({ type: z.literal('turn-end'), usage, finishReason: z.string().max(256).optional() }),
]);
const turnParts = z.array(turnPart).min(1).max(10_000);
const reply = z.strictObject({ text: z.string(), object: json.optional(), usage });

/** Throws INVALID_INPUT. */
export function parsePart(part: unknown): TurnPart {
  return parseSpec(turnPart, part, 'part', undefined, specLimits) as TurnPart;
}

/** The parts of a group, which has `turn-start` at its beginning or not at all. Throws INVALID_INPUT. */
export function parseParts(parts: unknown): TurnPart[] {
  const parsed = parseSpec(turnParts, parts, 'parts', undefined, specLimits) as TurnPart[];
  const start = parsed.findIndex(({ type }, index) => type === 'turn-start' && index > 0);
  if (start > 0) throw startWithin(start);
  const delta = parsed.findIndex((part) => part.type === 'tool-call' && part.args === undefined);
  if (delta >= 0) throw incompleteCall(delta);
  return parsed;
}

/** Throws INVALID_INPUT. */
export function parseReply(given: unknown): Reply {
  return parseSpec(reply, given, 'reply') as Reply;
}

function startWithin(index: number): InputError {
  const hint = 'Commit each turn by itself: turn-start is the first of its parts.';
  return invalidInput(`parts.${index}`, 'begins a turn within another one', hint);
}

function incompleteCall(index: number): InputError {
  return invalidInput(`parts.${index}.args`, 'is missing', 'Commit tool calls with all their arguments.');
}
