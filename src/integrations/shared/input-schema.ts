import type { JsonObject, Schema, StandardSchema } from '../../index.js';

/**
 * The schema of a tool of an SDK, as the kernel validates by it: the arguments stay as they are, because the SDK parses them by
 * the same schema, and a transformation would happen twice. What is neither a Standard Schema nor a JSON Schema accepts any
 * object, and is left to the SDK.
 */
export function toInputSchema(schema: unknown): Schema {
  if (isStandard(schema)) return checkOnly(schema);
  return isJsonSchema(schema) ? schema : { type: 'object' };
}

function checkOnly(schema: StandardSchema): StandardSchema {
  const { '~standard': standard } = schema;
  const validate: typeof standard.validate = async (value) => {
    const result = await standard.validate(value);
    return result.issues === undefined ? { value } : result;
  };
  // A proxy, so that what converts the schema to JSON Schema finds the schema itself.
  const checking = new Proxy(standard, {
    get: (target, key) => (key === 'validate' ? validate : Reflect.get(target, key)),
  });
  return new Proxy(schema, { get: (target, key) => (key === '~standard' ? checking : Reflect.get(target, key)) });
}

function isStandard(schema: unknown): schema is StandardSchema {
  return (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema;
}

/** A plain object with members: an object of a class, such as a schema of an old library, is none. */
function isJsonSchema(schema: unknown): schema is JsonObject {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return false;
  const prototype: unknown = Object.getPrototypeOf(schema);
  return (prototype === Object.prototype || prototype === null) && Object.keys(schema).length > 0;
}
