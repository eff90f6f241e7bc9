import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';

/** The clock may be a caller's own, so that the time is checked this often instead of slept through. */
const checkMs = 50;

/** Calls back at moments of kernel time: any number of timers share one timeout of the runtime. */
@injectable()
export class Timers {
  private readonly timers = new Set<Timer>();
  private nextAt = Number.POSITIVE_INFINITY;
  private timeout: NodeJS.Timeout | undefined;

  constructor(@inject(Clock) private readonly clock: KernelClock) {}

  /** Calls `callback` once, when the time is `at` or later, unless it is disposed before. */
  callAt(at: number, callback: () => void): Disposable {
    const timer: Timer = { at, callback };
    this.timers.add(timer);
    this.nextAt = Math.min(this.nextAt, at);
    this.schedule();
    return { [Symbol.dispose]: () => void this.timers.delete(timer) };
  }

  private schedule(): void {
    clearTimeout(this.timeout);
    if (this.timers.size === 0) return;
    const delayMs = Math.min(Math.max(0, this.nextAt - this.clock.peek()), checkMs);
    this.timeout = setTimeout(() => this.check(), delayMs).unref();
  }

  private check(): void {
    const now = this.clock.peek();
    if (now >= this.nextAt) this.callDue(now);
    this.schedule();
  }

  private callDue(now: number): void {
    this.nextAt = Number.POSITIVE_INFINITY;
    for (const timer of [...this.timers]) {
      if (timer.at > now) {
        this.nextAt = Math.min(this.nextAt, timer.at);
        continue;
      }
      if (this.timers.delete(timer)) timer.callback();
    }
  }
}

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}
