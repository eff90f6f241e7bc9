import { z } from 'zod';
import type { JsonObject } from '../json.js';
import { copyPlain, payloadLimits } from '../spec.js';
import { isStandardSchema } from './schema.js';
import type { Schema } from './schema-types.js';

/** The schema as JSON Schema, for those who write arguments; `{}` for a schema that cannot be converted. */
export function jsonSchemaOf(schema: Schema): JsonObject {
  const converted = isStandardSchema(schema) ? convertByLibrary(schema) : schema;
  const plain = copyPlain(converted, 'schema', payloadLimits);
  return typeof plain === 'object' && plain !== null && !Array.isArray(plain) ? (plain as JsonObject) : {};
}

/** Each schema library converts its schemas in its own way. */
function convertByLibrary(schema: object): unknown {
  const { '~standard': standard, toJsonSchema } = schema as ConvertibleSchema;
  try {
    if (standard.jsonSchema !== undefined) return standard.jsonSchema.input({ target: 'draft-2020-12' });
    if (standard.vendor === 'zod') return z.toJSONSchema(schema as z.ZodType, { io: 'input', unrepresentable: 'any' });
    if (toJsonSchema !== undefined) return toJsonSchema.call(schema);
  } catch {
    // Parts of it cannot be expressed in JSON Schema; validation still applies them.
  }
  return {};
}

interface ConvertibleSchema {
  readonly '~standard': {
    readonly vendor: string;
    readonly jsonSchema?: { input(options: { target: string }): unknown };
  };
  readonly toJsonSchema?: () => unknown;
}
