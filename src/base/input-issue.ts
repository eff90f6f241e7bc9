import { types } from 'node:util';
import { z } from 'zod';
import { type InputError, invalidInput } from './errors.js';
import type { JsonObject } from './json.js';

/** The problem of a promise that was given where a value is wanted. */
export const promiseProblem = 'a promise: is an await missing?';

/** Whether a value is a promise, or an object of a class with a method `then`. Calls no code of the value. */
export function isPromiseLike(value: unknown): boolean {
  if (types.isPromise(value)) return true;
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return false;
  let holder: unknown = value;
  for (let level = 0; level < prototypesMax && typeof holder === 'object' && holder !== null; level++) {
    const member = Object.getOwnPropertyDescriptor(holder, 'then');
    if (member !== undefined) return typeof member.value === 'function';
    holder = Object.getPrototypeOf(holder);
  }
  return false;
}

const prototypesMax = 16;

/**
 * The error of input that a schema refuses: the path of the first problem, which begins with `name`, and a hint that says
 * what is allowed there and on which page to read more.
 */
export function issueError(
  schema: z.ZodType,
  input: unknown,
  name: string,
  error: z.ZodError,
  page: string,
): InputError {
  const issue = error.issues[0];
  const path = issue?.path ?? [];
  const unknownKeys: JsonObject = issue?.code === 'unrecognized_keys' ? { unknown: issue.keys } : {};
  const allowed = describeAllowed(schemaAt(schema, path));
  const hint = allowed === undefined ? `See ${page}.` : `Allowed here: ${allowed}. See ${page}.`;
  return invalidInput([name, ...path].map(String).join('.'), problemAt(input, issue), hint, unknownKeys);
}

/** The problem in words; a promise in the place of the value is told as one. */
export function problemAt(input: unknown, issue: z.core.$ZodIssue | undefined, fallback = 'not valid'): string {
  return hasPromiseOn(input, issue?.path ?? []) ? promiseProblem : (issue?.message ?? fallback);
}

/**
 * Throws INVALID_INPUT for a promise among the members of an object, which a schema of an object without required members
 * would take for an empty one. Looks at `depth` levels of plain objects.
 */
export function assertNoPromise(value: unknown, path: string, page: string, depth: number): void {
  if (isPromiseLike(value)) throw invalidInput(path, promiseProblem, `See ${page}.`);
  if (depth === 0 || typeof value !== 'object' || value === null || types.isProxy(value)) return;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return;
  for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(value)))
    assertNoPromise(member.value, `${path}.${name}`, page, depth - 1);
}

/** Whether the value at `path`, or one that it would be a member of, is a promise. */
function hasPromiseOn(input: unknown, path: readonly PropertyKey[]): boolean {
  let value = input;
  for (const key of path) {
    if (isPromiseLike(value)) return true;
    if (typeof value !== 'object' || value === null || types.isProxy(value)) return false;
    value = Object.getOwnPropertyDescriptor(value, key)?.value;
  }
  return isPromiseLike(value);
}

/** The schema of the value at `path`; undefined where that depends on the value. */
function schemaAt(schema: unknown, path: readonly PropertyKey[]): unknown {
  const inner = unwrap(schema);
  const [key, ...rest] = path;
  if (key === undefined) return inner;
  if (inner instanceof z.ZodObject) return schemaAt((inner.shape as Record<PropertyKey, unknown>)[key], rest);
  if (inner instanceof z.ZodArray) return schemaAt(inner.element, rest);
  if (inner instanceof z.ZodRecord) return schemaAt(inner.valueType, rest);
  return undefined;
}

/** The schema that an optional member, a default or a transformation is made of. */
function unwrap(schema: unknown): unknown {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable
  )
    return unwrap(schema.unwrap());
  return schema instanceof z.ZodPipe ? unwrap(schema.in) : schema;
}

const namesMax = 50;

/** The values that a schema allows, in words; undefined where its own message says it better. */
function describeAllowed(schema: unknown): string | undefined {
  if (schema instanceof z.ZodObject) return listNames('the members', Object.keys(schema.shape));
  if (schema instanceof z.ZodEnum) return listNames('one of', schema.options.map(String));
  if (schema instanceof z.ZodArray) return 'a list';
  if (schema instanceof z.ZodRecord) return 'an object';
  if (schema instanceof z.ZodBoolean) return 'true or false';
  if (schema instanceof z.ZodString) return 'a text';
  if (schema instanceof z.ZodNumber) return schema.format === 'safeint' ? 'a whole number' : 'a number';
  return undefined;
}

function listNames(kind: string, names: readonly string[]): string {
  const shown = names.slice(0, namesMax).join(', ');
  return names.length > namesMax ? `${kind} ${shown}, …` : `${kind} ${shown}`;
}
