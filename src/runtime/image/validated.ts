import { errorText, type InputError, invalidInput } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import type { StandardSchema } from './standard-schema.js';

/** Whose schema it is, for those who are refused by it. */
export interface SchemaOwner {
  /** What the message calls the value, such as `spec.args`. */
  readonly path: string;
  readonly hint: string;
  readonly facts: JsonObject;
}

/** A schema is a caller's: what it says may be of any length. */
const problemCharsMax = 300;

/**
 * `value` as the schema gives it back. A schema is a caller's code: whatever it throws, and no answer at all, is a refusal.
 * Throws INVALID_INPUT.
 */
export async function validated(schema: StandardSchema, value: unknown, owner: SchemaOwner): Promise<unknown> {
  const run = async () => schema['~standard'].validate(value);
  const result = await run().catch((error) => {
    throw refused(owner, `the schema failed: ${errorText(error)}`, []);
  });
  if (typeof result !== 'object' || result === null) throw refused(owner, 'the schema gave no answer', []);
  if (result.issues === undefined) return result.value;
  const issue = result.issues[0];
  throw refused(owner, issue?.message ?? 'not valid', issue?.path ?? []);
}

function refused({ path, hint, facts }: SchemaOwner, problem: string, within: readonly unknown[]): InputError {
  const at = [
    path,
    ...within.map((part) => String(typeof part === 'object' && part !== null && 'key' in part ? part.key : part)),
  ];
  return invalidInput(at.join('.'), problem.slice(0, problemCharsMax).toWellFormed(), hint, facts);
}
