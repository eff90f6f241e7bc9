import type { z } from 'zod';
import { InputError } from '../../index.js';

/** What a caller gave, by its schema. Throws INVALID_INPUT that names the path; `name` is what it calls the value. */
export function parsed<Schema extends z.ZodType>(schema: Schema, given: unknown, name: string): z.output<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [name, ...(issue?.path ?? [])].map(String).join('.');
  throw new InputError('INVALID_INPUT', `${path}: ${issue?.message ?? 'not valid'}.`, {
    facts: { path },
    hint: 'See the type of this parameter in the API reference.',
  });
}
