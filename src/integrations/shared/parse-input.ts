import { types } from 'node:util';
import { z } from 'zod';
import { InputError } from '../../index.js';

/**
 * Parses what a caller gave. Throws INVALID_INPUT with the path of the problem, which begins with `name`; the hint names `page`
 * of the documentation.
 */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  name: string,
  page: string,
): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [name, ...(issue?.path ?? [])].map(String).join('.');
  const problem = types.isPromise(valueAt(input, issue?.path ?? []))
    ? 'a promise: is an await missing?'
    : `${issue?.message ?? 'not valid'}.`;
  throw new InputError('INVALID_INPUT', `${path}: ${problem}`, {
    facts: { path, problem },
    hint: `${allowedMembers(schema)}See ${page}.`,
  });
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], input);
}

function allowedMembers(schema: z.ZodType): string {
  if (!(schema instanceof z.ZodObject)) return '';
  return `It has the members ${Object.keys(schema.shape).join(', ')}. `;
}
