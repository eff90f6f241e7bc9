import { types } from 'node:util';
import { errorText, invalidInput } from '../errors.js';
import { toStandardSchema } from './schema.js';
import type { StandardSchema } from './schema-types.js';

/**
 * Takes the schema that a caller gives for the answer of a call out of the options of the call. The other options are as they
 * were: no getter is called. Throws INVALID_INPUT for a thing that is no schema.
 */
export function takeSchema<Options>(options: Options): { readonly schema?: StandardSchema; readonly others: Options } {
  if (typeof options !== 'object' || options === null || types.isProxy(options)) return { others: options };
  const { schema: member, ...members } = Object.getOwnPropertyDescriptors(options) as PropertyDescriptorMap;
  if (member === undefined || !('value' in member)) return { others: options };
  const others = Object.create(Object.getPrototypeOf(options), members) as Options;
  return member.value === undefined ? { others } : { schema: toStandardSchema(member.value, schemaPath), others };
}

const schemaPath = 'options.schema';

/** Compiles a JSON Schema, so that one that cannot be used is refused before anything is taken. Throws INVALID_INPUT. */
export async function prepareSchema(schema: StandardSchema): Promise<void> {
  const { vendor, validate } = schema['~standard'];
  if (vendor !== 'json-schema') return;
  try {
    await validate(null);
  } catch (error) {
    const problem = `cannot be compiled: ${errorText(error).slice(0, 300).toWellFormed()}`;
    throw invalidInput(schemaPath, problem, 'Give a valid JSON Schema.');
  }
}
