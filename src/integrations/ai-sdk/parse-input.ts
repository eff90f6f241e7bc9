import type { z } from 'zod';
import { InputError } from '../../index.js';

/** Parses what a caller gave. Throws INVALID_INPUT with the path of the problem, which begins with `name`. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown, name: string): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [name, ...(issue?.path ?? [])].map(String).join('.');
  throw new InputError('INVALID_INPUT', `${path}: ${issue?.message ?? 'not valid'}.`, {
    facts: { path },
    hint: 'See the type of this parameter in the API reference.',
  });
}
