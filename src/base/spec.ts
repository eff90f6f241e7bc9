import { z } from 'zod';
import { controlCharacters } from './characters.js';
import { type InputError, invalidInput } from './errors.js';
import { pageLimitDefault, pageLimitMax } from './page.js';
import { copyPlain, type PlainLimits, specLimits } from './plain.js';

/**
 * Copies the input of a caller to plain data and parses it. `name` is what the message calls the value, such as `spec`;
 * `opaque` as in `copyPlain`. Throws INVALID_INPUT with the path of the first wrong member.
 */
export function parseSpec<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  name: string,
  opaque?: (value: object) => boolean,
  limits: PlainLimits = specLimits,
): z.output<Schema> {
  const plain = copyPlain(input, name, limits, opaque);
  const result = schema.safeParse(plain);
  if (result.success) return result.data;
  throw fromIssue(name, result.error.issues[0]);
}

function fromIssue(name: string, issue: z.core.$ZodIssue | undefined): InputError {
  const path = [name, ...(issue?.path ?? [])].map(String).join('.');
  const unknownKeys = issue?.code === 'unrecognized_keys' ? { unknown: issue.keys } : {};
  return invalidInput(
    path,
    issue?.message ?? 'not valid',
    'See the type of this parameter in the API reference.',
    unknownKeys,
  );
}

const id = z.string().min(1).max(512);

/** Parses an id; `name` is what the message calls it, such as `pid`. Throws INVALID_INPUT. */
export function parseId(input: unknown, name: string): string {
  return parseSpec(id, input, name);
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

export const reasonText = z.string().max(4096);

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
