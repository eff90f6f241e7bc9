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

/** Wall time at the start, advanced by the monotonic clock: later changes of the system's clock have no effect. */
export function systemClock(): Clock {
  const origin = Date.now() - performance.now();
  return { now: () => Math.floor(origin + performance.now()) };
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
