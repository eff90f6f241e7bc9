import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';

/** How often the time is looked at: the clock may be a caller's own, so it cannot be slept through. */
const lookMs = 50;

class Alarm implements Disposable {
  constructor(
    private readonly alarms: Set<Alarm>,
    readonly at: number,
    readonly ring: () => void,
  ) {}

  [Symbol.dispose](): void {
    this.alarms.delete(this);
  }
}

/** Waits for moments of kernel time, any number of them with one timer. */
@injectable()
export class Timers {
  private readonly alarms = new Set<Alarm>();
  private next = Number.POSITIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;

  constructor(@inject(Clock) private readonly clock: KernelClock) {}

  /** Calls `ring` once when it is `at` or later, unless it is disposed before. */
  at(at: number, ring: () => void): Disposable {
    const alarm = new Alarm(this.alarms, at, ring);
    this.alarms.add(alarm);
    this.next = Math.min(this.next, at);
    this.arm();
    return alarm;
  }

  private arm(): void {
    clearTimeout(this.timer);
    if (this.alarms.size === 0) return;
    const delayMs = Math.min(Math.max(0, this.next - this.clock.peek()), lookMs);
    this.timer = setTimeout(() => this.look(), delayMs).unref();
  }

  private look(): void {
    const now = this.clock.peek();
    if (now >= this.next) this.ringDue(now);
    this.arm();
  }

  private ringDue(now: number): void {
    this.next = Number.POSITIVE_INFINITY;
    for (const alarm of [...this.alarms]) {
      if (alarm.at > now) {
        this.next = Math.min(this.next, alarm.at);
        continue;
      }
      this.alarms.delete(alarm);
      alarm.ring();
    }
  }
}
