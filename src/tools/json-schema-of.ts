import { z } from 'zod';
import type { JsonObject } from '../base/json.js';
import { copyPlain, payloadLimits } from '../base/plain.js';
import type { Schema } from '../runtime/image/schema.js';
import { isStandardSchema } from '../runtime/image/standard-schema.js';

/** What a schema takes, for those who have to write arguments. A schema that cannot tell takes anything. */
export function jsonSchemaOf(schema: Schema): JsonObject {
  const written = isStandardSchema(schema) ? writtenBy(schema) : schema;
  const plain = copyPlain(written, 'schema', payloadLimits);
  return typeof plain === 'object' && plain !== null && !Array.isArray(plain) ? (plain as JsonObject) : {};
}

/** The libraries have each their own way to say it. */
function writtenBy(schema: object): unknown {
  const { '~standard': standard, toJsonSchema } = schema as Writing;
  try {
    if (standard.jsonSchema !== undefined) return standard.jsonSchema.input({ target: 'draft-2020-12' });
    if (standard.vendor === 'zod') return z.toJSONSchema(schema as z.ZodType, { io: 'input', unrepresentable: 'any' });
    if (toJsonSchema !== undefined) return toJsonSchema.call(schema);
  } catch {
    // It has parts that JSON Schema cannot say; the validation still knows them.
  }
  return {};
}

interface Writing {
  readonly '~standard': {
    readonly vendor: string;
    readonly jsonSchema?: { input(options: { target: string }): unknown };
  };
  readonly toJsonSchema?: () => unknown;
}
