import { CombinedSignal } from '../../base/on-abort.js';
import { isBounded, type ValidationContext, validate } from '../../base/schema/schema.js';
import type { StandardSchema } from '../../base/schema/schema-types.js';
import type { Timers } from '../../unit/timers.js';
import { toolTimeout } from '../tool-errors.js';

/**
 * The time limit of one call. It counts what the call itself takes: the wait for a slot of the tool, validation by schemas of
 * others, and the run. The kernel's own work and the time that a person takes to answer do not count.
 */
export class CallTimeLimit {
  private readonly controller = new AbortController();
  private leftMs: number;

  constructor(
    private readonly timers: Timers,
    private readonly tool: string,
    private readonly timeoutMs: number,
  ) {
    this.leftMs = timeoutMs;
  }

  /** Aborts with TOOL_TIMEOUT when the time is over. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Counts the time until `work` is done. It has to heed the signal itself. */
  async count<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = this.timers.elapsedMs();
    const expire = () => this.controller.abort(toolTimeout(this.tool, this.timeoutMs));
    using _limit = this.timers.startLimit(this.leftMs, expire);
    try {
      return await work();
    } finally {
      this.leftMs -= this.timers.elapsedMs() - startedAt;
    }
  }
}

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
