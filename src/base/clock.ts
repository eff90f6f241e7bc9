import { performance } from 'node:perf_hooks';
import { type Token, token } from './token.js';

/** Gives the time in epoch milliseconds. */
export interface Clock {
  /** The time in milliseconds since 1970. */
  now(): number;
  /**
   * The time without moving the clock, for polls and timers; for clocks that move when they are read. Default: `now`.
   */
  peek?(): number;
  /**
   * Only for clocks that are moved by hand: each kernel that is opened with the clock attaches its timers, so that moving the
   * clock can run what has become due. With such a clock the time limits of waits, steps and tools count its time too.
   */
  attach?(timers: ClockTimers): Disposable;
}

/** The timers of an open kernel, for clocks that are moved by hand. */
export interface ClockTimers {
  /** The time of the clock at which the next timer is due; undefined without any. */
  nextAt(): number | undefined;
  /** Renews the lease of the kernel. To be called on all kernels of the clock, before any of them runs what is due. */
  renewLease(): Promise<void>;
  /** Runs what is due, and resolves when the kernel has nothing more to do before a later time. */
  runDue(): Promise<void>;
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

  /** The time in milliseconds since 1970. */
  now(): number {
    this.last = Math.max(this.last, this.source.now() + this.offset);
    return this.last;
  }

  peek(): number {
    const { source } = this;
    return Math.max(this.last, (source.peek === undefined ? source.now() : source.peek()) + this.offset);
  }

  /** Whether time passes only when somebody moves the clock. */
  get isMovedByHand(): boolean {
    return this.source.attach !== undefined;
  }

  /** Milliseconds from a fixed moment, for measuring durations: of the monotonic clock, or of a clock that is moved by hand. */
  elapsedMs(): number {
    return this.isMovedByHand ? this.peek() : performance.now();
  }

  /** Gives the timers of this kernel to a clock that is moved by hand; undefined for other clocks. */
  attachTimers(timers: ClockTimers): Disposable | undefined {
    return this.source.attach?.({
      nextAt: () => {
        const at = timers.nextAt();
        return at === undefined ? undefined : at - this.offset;
      },
      renewLease: () => timers.renewLease(),
      runDue: () => timers.runDue(),
    });
  }

  /** Never tells a time before this one again, which another program on the same store has written. */
  notBefore(at: number): void {
    this.last = Math.max(this.last, at);
  }

  /** Called when the store is opened, with the newest time in it. */
  advanceTo(floor: number): void {
    this.offset += Math.max(0, floor - this.now());
  }
}
