import { timerMsMax } from '../../base/spec.js';
import { toolTimeout } from '../tool-errors.js';

/**
 * The time limit of one call. It counts what the call itself takes: the wait for a slot of the tool, validation by schemas of
 * others, and the run. The kernel's own work and the time that a person takes to answer do not count.
 */
export class CallTimeLimit {
  private readonly controller = new AbortController();
  private leftMs: number;

  constructor(
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
    const startedAt = performance.now();
    const expire = () => this.controller.abort(toolTimeout(this.tool, this.timeoutMs));
    const timer = setTimeout(expire, Math.min(Math.max(this.leftMs, 0), timerMsMax));
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      this.leftMs -= performance.now() - startedAt;
    }
  }
}
