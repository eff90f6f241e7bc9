import { retryDelayMs } from '../step/retry.js';
import type { Supervision } from './supervision.js';

/** Counts the restarts of a supervisor within the period that ends now. */
export class RestartWindow {
  private times: number[] = [];

  constructor(private readonly limits: Pick<Supervision, 'intensity' | 'periodMs' | 'backoff'>) {}

  /** Counts one more at `at`. Answers how long to wait before it; undefined when it is one too many. */
  count(at: number): number | undefined {
    const { intensity, periodMs, backoff } = this.limits;
    this.times = [...this.times.filter((time) => time > at - periodMs), at];
    const { length } = this.times;
    if (length > intensity) return undefined;
    return backoff === undefined ? 0 : retryDelayMs({ ...backoff, attempts: length + 1 }, length, () => 0);
  }
}
