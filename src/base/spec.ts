import { types } from 'node:util';
import { z } from 'zod';
import { controlCharacters } from './characters.js';
import { docPages } from './doc-pages.js';
import { errorText, type InputError, invalidInput } from './errors.js';
import { isPromiseLike, issueError, promiseProblem } from './input-issue.js';
import type { JsonValue } from './json.js';
import { pageLimitDefault, pageLimitMax } from './page.js';

/**
 * Copies the input of a caller to plain data and parses it. `name` is what the message calls the value, such as `spec`;
 * `opaque` as in `copyPlain`; `page` is where the value is described. Throws INVALID_INPUT with the path of the first wrong
 * member.
 */
export function parseSpec<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  name: string,
  opaque?: (value: object) => boolean,
  limits: PlainLimits = specLimits,
  page: string = docPages.reference,
): z.output<Schema> {
  const plain = copyPlain(input, name, limits, opaque);
  const result = schema.safeParse(plain);
  if (result.success) return result.data;
  throw issueError(schema, plain, name, result.error, page);
}

/** Text that every store keeps as it is: PostgreSQL has no character with the code 0. */
export const storedText = z.string().refine((text) => !text.includes('\0'), 'has a NUL character');

/** The id of anything that the kernel has made. */
export const idText = storedText.min(1).max(512);

/** Parses an id; `name` is what the message calls it, such as `pid`. Throws INVALID_INPUT. */
export function parseId(input: unknown, name: string): string {
  return parseSpec(idText, input, name);
}

/** Whether a value is an AbortSignal, and not an object that merely has its prototype. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  // This test comes first because it is cheap, and every object of every spec is tested; a getter that throws is slow.
  if (!(value instanceof AbortSignal)) return false;
  try {
    return typeof Reflect.get(AbortSignal.prototype, 'aborted', value) === 'boolean';
  } catch {
    // The getter throws for every object that is not a signal.
    return false;
  }
}

/** Names and keys that people choose: bounded and printable, stored unchanged. */
export const label = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => !controlCharacters.test(text), 'has control or bidi characters');

export const reasonText = storedText.max(4096);

/** A whole number from 0 that a double holds exactly. */
export const amount = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

/** The longest delay of a Node.js timer. */
export const timerMsMax = 2 ** 31 - 1;

/** A time limit, short enough for a timer. */
export const timeLimitMs = z.number().int().positive().max(timerMsMax);

export const pageOptions = {
  limit: z.number().int().min(1).max(pageLimitMax).default(pageLimitDefault),
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'is not a cursor')
    .optional(),
};

/** The number of an event or of an audit record, as a number or as the cursor of a page. */
export const logNumber = z
  .union([amount, pageOptions.after.unwrap().transform(Number)], 'is not a number of the log')
  .optional();

export interface PlainLimits {
  /** The most UTF-8 bytes of the JSON text. */
  readonly bytesMax: number;
  readonly depthMax: number;
}

/** The limits of arguments and of other data outside of objects, whose limit is an option of the kernel. */
export const payloadLimits: PlainLimits = { bytesMax: 1024 * 1024, depthMax: 64 };
/** The limits of a spec, which contains arguments and payloads some levels down. */
export const specLimits: PlainLimits = { bytesMax: 4 * 1024 * 1024, depthMax: 72 };

/**
 * Copies `value` to plain data without prototypes. Throws INVALID_INPUT for accessors, functions, class instances,
 * proxies, cycles, NaN, BigInt, lone surrogates, `__proto__` members, and data that is too deep or too large. Undefined
 * members are left out. Values that `opaque` accepts, such as handles, are taken over as they are.
 */
export function copyPlain(
  value: unknown,
  path: string,
  limits: PlainLimits,
  opaque: (value: object) => boolean = () => false,
): JsonValue {
  const state: CopyState = { bytesLeft: limits.bytesMax, limits, opaque, callsToJson: false };
  return copy(value, path, 0, state) as JsonValue;
}

/**
 * `copyPlain` for values of code that gives dates and other objects: like `JSON.stringify`, it puts the answer of `toJSON` in
 * the place of every object that has one. No value at all is null. Throws INVALID_INPUT, also where `toJSON` throws.
 */
export function copySerialized(value: unknown, path: string, limits: PlainLimits): JsonValue {
  const state: CopyState = { bytesLeft: limits.bytesMax, limits, opaque: () => false, callsToJson: true };
  return copy(serialized(value, '', path) ?? null, path, 0, state) as JsonValue;
}

interface CopyState {
  bytesLeft: number;
  readonly limits: PlainLimits;
  readonly opaque: (value: object) => boolean;
  readonly callsToJson: boolean;
}

/** The answer of `toJSON` of an object that has one; every other value as it is. */
function serialized(value: unknown, key: string, path: string): unknown {
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return value;
  try {
    const { toJSON } = value as { toJSON?: unknown };
    return typeof toJSON === 'function' ? toJSON.call(value, key) : value;
  } catch (error) {
    throw notJson(path, `toJSON failed: ${errorText(error).slice(0, 200).toWellFormed()}`);
  }
}

function copy(value: unknown, path: string, depth: number, state: CopyState): unknown {
  switch (typeof value) {
    case 'string':
      return copyText(value, path, state);
    case 'number':
      if (!Number.isFinite(value)) throw notJson(path, `${value} is not a JSON number`);
      spend(String(value).length, path, state);
      return value === 0 ? 0 : value;
    case 'boolean':
      spend(value ? 4 : 5, path, state);
      return value;
    case 'object':
      if (value !== null) return copyObject(value, path, depth, state);
      spend(4, path, state);
      return null;
    default:
      throw notJson(path, `${typeof value} is not JSON`);
  }
}

function copyText(text: string, path: string, state: CopyState): string {
  // A text has at least as many bytes as characters, so a text that is far too long is refused without reading it.
  spend(text.length > state.bytesLeft ? text.length : jsonBytes(text), path, state);
  if (!text.isWellFormed()) throw notJson(path, 'the text has a lone surrogate');
  return text;
}

/** Printable ASCII without quotes and backslashes has one byte per character in JSON. */
const plainText = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** The UTF-8 bytes of a text in JSON, with its quotes. */
function jsonBytes(text: string): number {
  return plainText.test(text) ? text.length + 2 : Buffer.byteLength(JSON.stringify(text));
}

function copyObject(value: object, path: string, depth: number, state: CopyState): unknown {
  if (types.isProxy(value)) throw notJson(path, 'a proxy is not data');
  if (state.opaque(value)) return value;
  if (types.isPromise(value)) throw notJson(path, promiseProblem);
  if (depth >= state.limits.depthMax) {
    throw notJson(path.slice(0, 200), `nested deeper than ${state.limits.depthMax}`, {
      depthMax: state.limits.depthMax,
    });
  }
  spend(2, path, state);
  if (Array.isArray(value)) return copyArray(value, path, depth, state);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw notJson(path, isPromiseLike(value) ? promiseProblem : 'an instance of a class is not data');
  }
  const out: Record<string, unknown> = Object.create(null);
  let isFirst = true;
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === 'symbol') continue;
    if (key === '__proto__') throw notJson(path, 'a member may not be named __proto__');
    const member = Object.getOwnPropertyDescriptor(value, key);
    if (member === undefined || !('value' in member)) throw notJson(`${path}.${key}`, 'a getter is not data');
    if (!member.enumerable) continue;
    const item = state.callsToJson ? serialized(member.value, key, `${path}.${key}`) : member.value;
    if (item === undefined) continue;
    spend(1 + Number(!isFirst), path, state);
    isFirst = false;
    copyText(key, path, state);
    out[key] = copy(item, `${path}.${key}`, depth + 1, state);
  }
  return out;
}

function copyArray(value: readonly unknown[], path: string, depth: number, state: CopyState): unknown[] {
  const out: unknown[] = [];
  for (let index = 0; index < value.length; index++) {
    const found = Object.getOwnPropertyDescriptor(value, index);
    const isGiven = found !== undefined && 'value' in found;
    const item =
      isGiven && state.callsToJson ? serialized(found.value, String(index), `${path}[${index}]`) : found?.value;
    if (!isGiven || item === undefined) {
      throw notJson(`${path}[${index}]`, 'the item is a hole, undefined or a getter');
    }
    if (index > 0) spend(1, path, state);
    out.push(copy(item, `${path}[${index}]`, depth + 1, state));
  }
  return out;
}

function spend(bytes: number, path: string, state: CopyState): void {
  state.bytesLeft -= bytes;
  if (state.bytesLeft < 0) {
    throw notJson(path.slice(0, 200), `larger than ${state.limits.bytesMax} bytes`, {
      bytesMax: state.limits.bytesMax,
    });
  }
}

function notJson(path: string, problem: string, facts: Record<string, number> = {}): InputError {
  return invalidInput(
    path,
    problem,
    'Give plain JSON: objects, arrays, text, finite numbers, booleans and null.',
    facts,
  );
}
