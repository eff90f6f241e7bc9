import { performance } from 'node:perf_hooks';
import type { Clock } from '../../base/clock.js';

const samplesKept = 8;

/**
 * The time of the database server, by the monotonic clock of this machine. The server's time is at least what it was when it
 * answered, so of the last samples the one that is furthest ahead is the best, and this clock is never ahead of the server.
 */
export class DatabaseClock implements Clock {
  private readonly samples: number[] = [];
  private offset = Date.now() - performance.now();

  now(): number {
    return Math.floor(performance.now() + this.offset);
  }

  /** `serverMs`: the time of the server in an answer that has just been received. */
  observe(serverMs: number): void {
    this.samples.push(serverMs - performance.now());
    if (this.samples.length > samplesKept) this.samples.shift();
    this.offset = Math.max(...this.samples);
  }
}
