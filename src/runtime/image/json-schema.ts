import type { Ajv, ErrorObject, Options } from 'ajv';
import type { JsonObject } from '../../base/json.js';

/** A JSON Schema of draft 2020-12, or of draft 07 where its `$schema` says so. `format` is not checked. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** The result of a validation, as Standard Schema defines it. */
export type ValidationResult =
  | { readonly value: unknown; readonly issues?: undefined }
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
const options: Options = { strict: false, validateFormats: false, logger: false };

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

/** Compilers shared by several schemas: creating one takes ten times as long as compiling with it. */
export interface Compilers {
  draft07?: Ajv;
  draft2020?: Ajv;
}

/** Throws the error of the compiler for a schema that is not valid. */
export async function compileSchema(schema: JsonObject, shared: Compilers = {}): Promise<Validate> {
  if (schema.$async !== undefined) throw new Error('$async is not supported');
  // A compiler accepts an $id only once, and two schemas may have the same.
  const compilers = JSON.stringify(schema).includes('"$id"') ? {} : shared;
  const validate = (await compilerOf(schema, compilers)).compile(withPrototypes(schema));
  return (value) => (validate(withPrototypes(value)) ? { value } : { issues: (validate.errors ?? []).map(issueOf) });
}

async function compilerOf({ $schema }: JsonObject, compilers: Compilers): Promise<Ajv> {
  if (typeof $schema === 'string' && /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test($schema)) {
    compilers.draft07 ??= new (await import('ajv')).Ajv(options);
    return compilers.draft07;
  }
  compilers.draft2020 ??= new (await import('ajv/dist/2020.js')).Ajv2020(options);
  return compilers.draft2020;
}

/** Plain data has no prototype, and the compiler calls methods that objects inherit. */
function withPrototypes<T>(value: T): T {
  return structuredClone(value);
}

function issueOf({ instancePath, keyword, message = 'is not valid', params }: ErrorObject): {
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
