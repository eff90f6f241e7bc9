import { errorText, type InputError, invalidInput } from '../errors.js';
import type { JsonObject } from '../json.js';
import { copyPlain, payloadLimits } from '../spec.js';
import { hasKeyword, jsonSchemaValidator, type ValidationResult } from './json-schema.js';
import type { StandardSchema } from './schema-types.js';

/** A schema that was not written by the host, such as one of an MCP server: its validation ends when `signal` aborts. */
export interface BoundedSchema extends StandardSchema {
  validateUntil(value: unknown, signal: AbortSignal | undefined): Promise<ValidationResult>;
}

export function isBounded(schema: StandardSchema): schema is BoundedSchema {
  return 'validateUntil' in schema;
}

/** Gives a Standard Schema back, and wraps a copy of a JSON Schema as one. Throws INVALID_INPUT for anything else. */
export function toStandardSchema(schema: unknown, path: string): StandardSchema {
  if (isStandardSchema(schema)) return schema;
  const plain = copyPlain(schema, path, payloadLimits);
  if (typeof plain !== 'object' || plain === null || !hasKeyword(plain)) throw notASchema(path);
  return { '~standard': { version: 1, vendor: 'json-schema', validate: jsonSchemaValidator(plain as JsonObject) } };
}

export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || !('~standard' in value))
    return false;
  const standard = value['~standard'];
  return (
    typeof standard === 'object' &&
    standard !== null &&
    'validate' in standard &&
    typeof standard.validate === 'function'
  );
}

/** The parts of the error for a value that is not valid. */
export interface ValidationContext {
  /** The name of the value in the message, such as `spec.args`. */
  readonly path: string;
  readonly hint: string;
  readonly facts: JsonObject;
}

/**
 * The output of the schema for `value`. A schema is code of the caller: when it throws or answers with nothing, the value is
 * refused. Throws INVALID_INPUT, and the reason of `signal` when it aborts while a schema from outside is at work.
 */
export async function validate(
  schema: StandardSchema,
  value: unknown,
  context: ValidationContext,
  signal?: AbortSignal,
): Promise<unknown> {
  const run = async () =>
    isBounded(schema) ? schema.validateUntil(value, signal) : schema['~standard'].validate(value);
  const result = await run().catch((error) => {
    if (signal?.aborted === true && error === signal.reason) throw error;
    throw invalidValue(context, `the schema failed: ${errorText(error)}`, []);
  });
  if (typeof result !== 'object' || result === null) throw invalidValue(context, 'the schema gave no answer', []);
  if (result.issues === undefined) return result.value;
  const issue = result.issues[0];
  throw invalidValue(context, issue?.message ?? 'not valid', issue?.path ?? []);
}

/** The messages of a caller's schema may be of any length. */
const problemCharsMax = 300;

function invalidValue(
  { path, hint, facts }: ValidationContext,
  problem: string,
  issuePath: readonly unknown[],
): InputError {
  const segments = issuePath.map((segment) =>
    String(typeof segment === 'object' && segment !== null && 'key' in segment ? segment.key : segment),
  );
  return invalidInput([path, ...segments].join('.'), problem.slice(0, problemCharsMax).toWellFormed(), hint, facts);
}

function notASchema(path: string): InputError {
  return invalidInput(
    path,
    'is neither a Standard Schema nor a JSON Schema',
    'Give a schema of zod, valibot or arktype, or a JSON Schema object.',
  );
}
