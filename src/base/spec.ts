import { z } from 'zod';
import { type InputError, invalidInput } from './errors.js';
import { pageLimitDefault, pageLimitMax } from './page.js';
import { copyPlain, type PlainLimits, specLimits } from './plain.js';

/**
 * Copies what a caller gave to plain data and parses it. Throws INVALID_INPUT that names the path.
 * `name` is what the message calls the value, such as `spec`.
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

const controls = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Text that people give as a name or a key: bounded, printable, stored as it is. */
export const label = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => !controls.test(text), 'has control or bidi characters');

export const reasonText = z.string().max(4096);

/** Whole numbers that a double holds exactly. */
export const amount = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

/** The longest time that a timer can be set to. */
export const timerMsMax = 2 ** 31 - 1;

/** How long something may take. */
export const timeLimitMs = z.number().int().positive().max(timerMsMax);

export const pageOptions = {
  limit: z.number().int().min(1).max(pageLimitMax).default(pageLimitDefault),
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'is not a cursor')
    .optional(),
};
