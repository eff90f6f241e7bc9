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
