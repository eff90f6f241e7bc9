import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../base/clock.js';
import { timerMsMax } from '../base/spec.js';

/** The clock may be a caller's own, so that the time is checked this often instead of slept through. */
const checkMs = 50;

/** Calls back at moments of kernel time: any number of timers share one timeout of the runtime. */
@injectable()
export class Timers {
  private readonly timers = new Set<Timer>();
  private checkAt = Number.POSITIVE_INFINITY;
  private timeout: NodeJS.Timeout | undefined;

  constructor(@inject(Clock) private readonly clock: KernelClock) {}

  /** Calls `callback` once, when the time is `at` or later, unless it is disposed before. */
  callAt(at: number, callback: () => void): Disposable {
    const timer: Timer = { at, callback };
    this.timers.add(timer);
    this.checkAt = Math.min(this.checkAt, at);
    this.schedule();
    return { [Symbol.dispose]: () => void this.timers.delete(timer) };
  }

  /** The time of the earliest timer; undefined without any. */
  nextAt(): number | undefined {
    let next: number | undefined;
    for (const { at } of this.timers) if (next === undefined || at < next) next = at;
    return next;
  }

  /** Calls back now what is due, without waiting for the next check of the time. Answers whether anything was. */
  runDue(): boolean {
    const now = this.clock.peek();
    const isDue = [...this.timers].some(({ at }) => at <= now);
    if (isDue) this.callDue(now);
    return isDue;
  }

  /**
   * Calls `callback` after `ms`, unless it is disposed before: for limits of work that goes on outside of the kernel. It
   * counts real time, or the time of the kernel's clock where that is moved by hand.
   */
  startLimit(ms: number, callback: () => void): Disposable {
    if (!this.clock.isMovedByHand) return startRealLimit(ms, callback);
    return this.callAt(this.clock.peek() + ms, callback);
  }

  /** Milliseconds from a fixed moment, as `startLimit` counts them. */
  elapsedMs(): number {
    return this.clock.elapsedMs();
  }

  private schedule(): void {
    clearTimeout(this.timeout);
    if (this.timers.size === 0) return;
    const delayMs = Math.min(Math.max(0, this.checkAt - this.clock.peek()), checkMs);
    this.timeout = setTimeout(() => this.check(), delayMs).unref();
  }

  private check(): void {
    const now = this.clock.peek();
    if (now >= this.checkAt) this.callDue(now);
    this.schedule();
  }

  private callDue(now: number): void {
    this.checkAt = Number.POSITIVE_INFINITY;
    for (const timer of [...this.timers]) {
      if (timer.at > now) {
        this.checkAt = Math.min(this.checkAt, timer.at);
        continue;
      }
      if (this.timers.delete(timer)) timer.callback();
    }
  }
}

/** Calls `callback` after `ms` of real time, unless it is disposed before. It keeps the program running. */
export function startRealLimit(ms: number, callback: () => void): Disposable {
  const timeout = setTimeout(callback, Math.min(Math.max(ms, 0), timerMsMax));
  return { [Symbol.dispose]: () => clearTimeout(timeout) };
}

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}
