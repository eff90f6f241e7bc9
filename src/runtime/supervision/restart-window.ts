import { retryDelayMs } from '../step/retry.js';
import type { Supervision } from './supervision.js';

/** Counts restarts within a sliding period, for the intensity limit of a supervisor. */
export class RestartWindow {
  private times: number[] = [];

  constructor(private readonly limits: Pick<Supervision, 'intensity' | 'periodMs' | 'backoff'>) {}

  /** Counts a restart at the time `at`. Answers with the delay before it; undefined when it exceeds the intensity. */
  count(at: number): number | undefined {
    const { intensity, periodMs, backoff } = this.limits;
    this.times = [...this.times.filter((time) => time > at - periodMs), at];
    const { length } = this.times;
    if (length > intensity) return undefined;
    return backoff === undefined ? 0 : retryDelayMs({ ...backoff, attempts: length + 1 }, length, () => 0);
  }
}
