import { type InputError, invalidInput } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/plain.js';
import { hasKeyword, type JsonSchema, validatorOf } from './json-schema.js';
import { isStandardSchema, type StandardSchema } from './standard-schema.js';

/** What input is validated by: any Standard Schema, such as those of zod, valibot and arktype, or a JSON Schema. */
export type Schema = StandardSchema | JsonSchema;

/** What is no Standard Schema has to be a JSON Schema, which is data. Throws INVALID_INPUT. */
export function toStandardSchema(schema: unknown, path: string): StandardSchema {
  if (isStandardSchema(schema)) return schema;
  const plain = copyPlain(schema, path, payloadLimits);
  if (typeof plain !== 'object' || plain === null || !hasKeyword(plain)) throw notASchema(path);
  return { '~standard': { version: 1, vendor: 'json-schema', validate: validatorOf(plain as JsonObject) } };
}

function notASchema(path: string): InputError {
  return invalidInput(
    path,
    'is neither a Standard Schema nor a JSON Schema',
    'Give a schema of zod, valibot or arktype, or a JSON Schema object.',
  );
}
