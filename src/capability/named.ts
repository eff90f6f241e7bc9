import { z } from 'zod';
import { parseSpec } from '../base/spec.js';

const id = z.string().min(1).max(512);

/** An id that a caller gave; `what` is what the refusal calls it. Throws INVALID_INPUT. */
export function parseId(input: unknown, what: 'pid' | 'from' | 'to' | 'capability' | 'rule' | 'approval'): string {
  return parseSpec(id, input, what);
}
