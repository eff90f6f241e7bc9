import { toStandardSchema, validate } from './schema.js';
import type { Schema } from './schema-types.js';

/**
 * The output of a schema for a value: a Standard Schema, or a JSON Schema. Throws INVALID_INPUT with the path of the problem,
 * which begins with `path`.
 */
export async function validateValue(schema: Schema, value: unknown, path = 'value'): Promise<unknown> {
  const hint = 'See the schema that it is validated by.';
  return validate(toStandardSchema(schema, 'schema'), value, { path, hint, facts: {} });
}
