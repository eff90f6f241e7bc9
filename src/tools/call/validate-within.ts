import { CombinedSignal } from '../../base/on-abort.js';
import { isBounded, type ValidationContext, validate } from '../../base/schema/schema.js';
import type { StandardSchema } from '../../base/schema/schema-types.js';
import type { CallTimeLimit } from './call-time-limit.js';

/** What ends a call early: its time limit, and its caller. */
export interface CallEnds {
  readonly limit: CallTimeLimit;
  /** Aborts when the caller gives the call up. */
  readonly callerSignal?: AbortSignal | undefined;
}

/**
 * Validates as `validate` does. The time of a schema from outside counts as time of the call, and it ends with the call:
 * throws TOOL_TIMEOUT, or the reason of the caller.
 */
export async function validateWithin(
  schema: StandardSchema,
  value: unknown,
  context: ValidationContext,
  { limit, callerSignal }: CallEnds,
): Promise<unknown> {
  if (!isBounded(schema)) return validate(schema, value, context);
  using ends = new CombinedSignal([limit.signal, callerSignal]);
  return await limit.count(() => validate(schema, value, context, ends.signal));
}
