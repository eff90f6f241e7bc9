import type { Ajv, ErrorObject, Options } from 'ajv';
import type { JsonObject } from '../json.js';

/** A JSON Schema of draft 2020-12, or of draft 07 where its `$schema` says so. `format` is not checked. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** The result of a validation, as Standard Schema defines it. */
export type ValidationResult<Value = unknown> =
  | { readonly value: Value; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

const keywords = new Set(
  '$schema $id $ref $dynamicRef $defs definitions type enum const properties patternProperties additionalProperties propertyNames unevaluatedProperties minProperties maxProperties required dependentRequired dependentSchemas dependencies items prefixItems additionalItems unevaluatedItems contains minItems maxItems uniqueItems minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern allOf anyOf oneOf not if'.split(
    ' ',
  ),
);

/**
 * Whether the object has a keyword of JSON Schema. Other members are ignored by the standard, so that an object without any
 * keyword, such as `{ n: 'number' }`, would accept every value.
 */
export function hasKeyword(schema: object): boolean {
  return Object.keys(schema).some((member) => keywords.has(member));
}

/** Unknown keywords are ignored, as the standard says, and nothing is printed. */
export const compilerOptions: Options = { strict: false, validateFormats: false, logger: false };

type Validate = (value: unknown) => ValidationResult;

/**
 * Validates by a JSON Schema, compiled at its first use: loading the compiler takes longer than opening a kernel, and most
 * kernels do not need it. With a schema that cannot be compiled, every validation throws.
 */
export function jsonSchemaValidator(schema: JsonObject): (value: unknown) => Promise<ValidationResult> {
  let compiled: Promise<Validate> | undefined;
  return async (value) => {
    compiled ??= compileSchema(schema);
    const validate = await compiled;
    return validate(value);
  };
}

/** Throws the error of the compiler for a schema that is not valid. */
async function compileSchema(schema: JsonObject): Promise<Validate> {
  if (schema.$async !== undefined) throw new Error('$async is not supported');
  const validate = (await createCompiler(schema)).compile(withPrototypes(schema));
  return (value) => (validate(withPrototypes(value)) ? { value } : { issues: (validate.errors ?? []).map(issueOf) });
}

async function createCompiler(schema: JsonObject): Promise<Ajv> {
  if (dialectOf(schema) === 'draft07') return new (await import('ajv')).Ajv(compilerOptions);
  return new (await import('ajv/dist/2020.js')).Ajv2020(compilerOptions);
}

/** The version of the standard that a schema is written in. */
export function dialectOf({ $schema }: JsonObject): 'draft07' | 'draft2020' {
  const isDraft07 = typeof $schema === 'string' && /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test($schema);
  return isDraft07 ? 'draft07' : 'draft2020';
}

/** Whether some part of the schema has an `$id`: a compiler accepts each only once, and two schemas may have the same. */
export function hasId(schema: JsonObject): boolean {
  return JSON.stringify(schema).includes('"$id"');
}

/** Plain data has no prototype, and the compiler calls methods that objects inherit. */
function withPrototypes<T>(value: T): T {
  return structuredClone(value);
}

/** The issue that an error of the compiler tells. */
export function issueOf({ instancePath, keyword, message = 'is not valid', params }: ErrorObject): {
  message: string;
  path: string[];
} {
  return {
    message: `${message}${detailOf(keyword, params)}`,
    path: instancePath.split('/').slice(1).map(unescapeSegment),
  };
}

/** The part of the problem that the compiler's message leaves out. */
function detailOf(keyword: string, params: Record<string, unknown>): string {
  switch (keyword) {
    case 'additionalProperties':
      return `: ${JSON.stringify(params.additionalProperty)}`;
    case 'enum':
      return `: ${JSON.stringify(params.allowedValues)}`;
    case 'const':
      return `: ${JSON.stringify(params.allowedValue)}`;
    default:
      return '';
  }
}

/** One segment of a JSON Pointer, without its escapes. */
function unescapeSegment(text: string): string {
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}
