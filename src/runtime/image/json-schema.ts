import type { Ajv, ErrorObject, Options } from 'ajv';
import type { JsonObject } from '../../base/json.js';
import type { StandardResult } from './standard-schema.js';

/** A JSON Schema of draft 2020-12, or of draft 07 where its `$schema` says so. A `format` is a remark, not a check. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

const keywords = new Set(
  '$schema $id $ref $dynamicRef $defs definitions type enum const properties patternProperties additionalProperties propertyNames unevaluatedProperties minProperties maxProperties required dependentRequired dependentSchemas dependencies items prefixItems additionalItems unevaluatedItems contains minItems maxItems uniqueItems minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern allOf anyOf oneOf not if'.split(
    ' ',
  ),
);

/**
 * Members that are no keywords mean nothing in a schema. What has no keyword at all, such as `{ n: 'number' }`, would let
 * everything pass: it is something else.
 */
export function hasKeyword(schema: object): boolean {
  return Object.keys(schema).some((member) => keywords.has(member));
}

/** What means nothing is let pass, as the standard says, and the console is left alone. */
const options: Options = { strict: false, validateFormats: false, logger: false };

type Validate = (value: unknown) => StandardResult;

/**
 * Validates by a JSON Schema. The schema is compiled when it is first used: the compiler takes longer to load than a kernel
 * to open, and most have no use for it. A schema that cannot be compiled throws whenever it is used.
 */
export function validatorOf(schema: JsonObject): (value: unknown) => Promise<StandardResult> {
  let compiled: Promise<Validate> | undefined;
  return async (value) => {
    compiled ??= compileSchema(schema);
    const validate = await compiled;
    return validate(value);
  };
}

/** For schemas that come and go together: to make a compiler takes ten times as long as to use it. */
export interface Compilers {
  draft07?: Ajv;
  draft2020?: Ajv;
}

/** Throws what the compiler says of a schema that it cannot take. */
export async function compileSchema(schema: JsonObject, shared: Compilers = {}): Promise<Validate> {
  if (schema.$async !== undefined) throw new Error('$async is not supported');
  // Two schemas may have the same name, and one compiler takes a name once.
  const compilers = JSON.stringify(schema).includes('"$id"') ? {} : shared;
  const validate = (await compilerOf(schema, compilers)).compile(ordinary(schema));
  return (value) => (validate(ordinary(value)) ? { value } : { issues: (validate.errors ?? []).map(issueOf) });
}

async function compilerOf({ $schema }: JsonObject, compilers: Compilers): Promise<Ajv> {
  if (typeof $schema === 'string' && /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test($schema)) {
    compilers.draft07 ??= new (await import('ajv')).Ajv(options);
    return compilers.draft07;
  }
  compilers.draft2020 ??= new (await import('ajv/dist/2020.js')).Ajv2020(options);
  return compilers.draft2020;
}

/** The compiler counts on the methods that every object inherits; plain data has none. */
function ordinary<T>(value: T): T {
  return structuredClone(value);
}

function issueOf({ instancePath, keyword, message = 'is not valid', params }: ErrorObject): {
  message: string;
  path: string[];
} {
  return { message: `${message}${detailOf(keyword, params)}`, path: instancePath.split('/').slice(1).map(partOf) };
}

/** What the message leaves out. */
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

/** A part of a JSON Pointer. */
function partOf(text: string): string {
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}
