import { z } from 'zod';
import { docPages } from '../base/doc-pages.js';
import { InputError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { amount, idText, label, type PlainLimits, pageOptions, parseSpec, storedText } from '../base/spec.js';
import { parseRequest } from '../capability/resource/resource.js';
import { rights } from '../capability/resource/rights.js';
import { ObjectHandle, objectTypes, relations } from './object/object.js';

const json = z.custom<JsonValue>();
const ref = z
  .union([idText, z.custom<ObjectHandle>((value) => ObjectHandle.is(value))])
  .transform((value) => (ObjectHandle.is(value) ? value.id : value));
const tags = z.array(label).max(64);
const namespace = z
  .string()
  .min(1)
  .max(1024)
  .transform((text) => parseNamespace(text));

export const refSpec = ref;
export const namespaceSpec = namespace;
export const createSpec = z.strictObject({
  type: z.enum(objectTypes),
  payload: json,
  name: label.optional(),
  namespace: namespace.optional(),
  title: storedText.max(1024).optional(),
  tags: tags.optional(),
  immutable: z.boolean().default(true),
  inView: z.boolean().default(true),
  sources: z.array(ref).max(1024).default([]),
});
/** The schema is taken out of the options before they are parsed; here it is only named. */
export const readOptions = z.strictObject({ version: amount.min(1).optional(), schema: z.undefined().optional() });
export const updateOptions = z.strictObject({
  ifVersion: amount.min(1).optional(),
  history: z.boolean().default(true),
});
export const relationSpec = z.enum(relations);
export const linksOptions = z.strictObject({
  relation: relationSpec.optional(),
  depth: z.number().int().min(1).max(16).default(1),
  direction: z.enum(['out', 'in', 'both']).default('out'),
});
export const rightsSpec = z.array(z.enum(rights)).min(1).max(64);
export const querySpec = z.strictObject({
  types: z.array(z.enum(objectTypes)).optional(),
  tags: tags.optional(),
  name: label.optional(),
  text: storedText.min(1).max(4096).optional(),
  namespace: namespace.optional(),
  createdBy: idText.optional(),
  limit: pageOptions.limit,
  after: idText.optional(),
});

export const listSpec = z.strictObject({
  pid: idText.optional(),
  type: z.enum(objectTypes).optional(),
  name: label.optional(),
  limit: pageOptions.limit,
  after: idText.optional(),
});

/** Parses the input of a memory syscall. Object handles pass unchanged. Throws INVALID_INPUT. */
export function parseMemorySpec<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  name: string,
  limits?: PlainLimits,
): z.output<Schema> {
  return parseSpec(schema, input, name, (value) => ObjectHandle.is(value), limits, docPages.memory);
}

/** A namespace in canonical spelling. Throws INVALID_INPUT. */
function parseNamespace(text: string): string {
  try {
    return parseRequest(`ns:${text}`).segments.join('/');
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError('INVALID_INPUT', `The namespace ${JSON.stringify(text.slice(0, 200))} cannot be used.`, {
      facts: { path: 'namespace', problem: error.message },
      hint: 'Write names joined by "/", such as "team/notes".',
    });
  }
}
