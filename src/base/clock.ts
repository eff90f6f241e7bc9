import { performance } from 'node:perf_hooks';
import { type Token, token } from './token.js';

/** Gives the time in epoch milliseconds. */
export interface Clock {
  now(): number;
  /**
   * The time without moving the clock, for polls and timers; for clocks that move when they are read. Default: `now`.
   */
  peek?(): number;
}
export const Clock: Token<KernelClock> = token('Clock');

/** A forward step of the machine's clock beyond this is followed only when it still stands after `confirmMs`. */
const stepMsMax = 3_600_000;
const confirmMs = 60_000;

/**
 * The machine's clock, which it follows forward and never back: after a step back, time goes on by the monotonic clock until
 * the machine's clock has caught up. `onStep` is told of a step forward of more than an hour, which may be a mistake; it is
 * followed when it still stands after a minute.
 */
export function systemClock(onStep: (aheadMs: number) => void = () => undefined): Clock {
  let origin = Date.now() - performance.now();
  let steppedAt: number | undefined;
  return {
    now: () => {
      const elapsed = performance.now();
      const aheadMs = Date.now() - elapsed - origin;
      if (aheadMs <= stepMsMax) {
        steppedAt = undefined;
      } else if (steppedAt === undefined) {
        steppedAt = elapsed;
        onStep(aheadMs);
      }
      const isConfirmed = steppedAt === undefined || elapsed - steppedAt >= confirmMs;
      if (aheadMs > 0 && isConfirmed) origin += aheadMs;
      return Math.floor(origin + elapsed);
    },
  };
}

/** A clock that moves one millisecond each time it is read, for runs that must be repeatable. */
export function seededClock(): Clock {
  let now = Date.UTC(2025, 0, 1);
  return { now: () => ++now, peek: () => now };
}

/** The time of the source, but never earlier than the newest time in the store, and never going back. */
export class KernelClock implements Clock {
  private offset = 0;
  private last = 0;

  constructor(private readonly source: Clock) {}

  now(): number {
    this.last = Math.max(this.last, this.source.now() + this.offset);
    return this.last;
  }

  peek(): number {
    const { source } = this;
    return Math.max(this.last, (source.peek === undefined ? source.now() : source.peek()) + this.offset);
  }

  /** Called when the store is opened, with the newest time in it. */
  advanceTo(floor: number): void {
    this.offset += Math.max(0, floor - this.now());
  }
}
