import { type Clock, type ClockTimers, InputError } from '../index.js';

/** The time that a test clock shows at first, unless it is told another. */
const startAtDefault = Date.UTC(2025, 0, 1);

/**
 * A clock that stands still until it is moved. Moving it runs everything that becomes due on the kernels that were opened
 * with it, in the order of time: sleeps, deadlines, retries, time limits of waits, steps and tools, expiries and leases.
 *
 * @example
 * const clock = new TestClock();
 * const kernel = await createKernel({ clock });
 * await clock.advance(24 * 60 * 60 * 1000);
 */
export class TestClock implements Clock {
  private at: number;
  private readonly kernels = new Set<ClockTimers>();
  private moving: Promise<void> = Promise.resolve();

  /** `startAt`: the time at first, in epoch milliseconds or as a date; default the first of January 2025, UTC. */
  constructor(startAt: number | Date = startAtDefault) {
    this.at = toTime(startAt, 'startAt');
  }

  /** The time in epoch milliseconds. */
  now(): number {
    return this.at;
  }

  /**
   * Moves the time on by `ms`, one due timer after the other, and resolves when the kernels have acted upon all of them.
   * Before that it lets processes that are under way reach their next wait. With 0 it only does the latter. It does not
   * wait for work outside of the kernel, such as a request that a step makes. Throws INVALID_INPUT.
   */
  advance(ms: number): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0) return Promise.reject(invalidTime('ms', 'is not a number of 0 or more'));
    return this.enqueue(() => this.moveTo(this.at + ms));
  }

  /** Moves the time on to `at`, as `advance` does. Throws INVALID_INPUT for a time that is over. */
  async advanceTo(at: number | Date): Promise<void> {
    const target = toTime(at, 'at');
    return this.enqueue(() => {
      if (target < this.at) throw invalidTime('at', `is before ${new Date(this.at).toISOString()}`);
      return this.moveTo(target);
    });
  }

  /** Called by each kernel that is opened with the clock. */
  attach(timers: ClockTimers): Disposable {
    this.kernels.add(timers);
    return { [Symbol.dispose]: () => void this.kernels.delete(timers) };
  }

  /** One move after the other. */
  private enqueue(move: () => Promise<void>): Promise<void> {
    const moved = this.moving.then(move);
    this.moving = moved.catch(() => undefined);
    return moved;
  }

  private async moveTo(target: number): Promise<void> {
    await this.runDue();
    for (let next = this.nextAt(); next <= target; next = this.nextAt()) {
      this.at = Math.max(this.at, next);
      await this.runDue();
    }
    if (this.at === target) return;
    this.at = target;
    await this.runDue();
  }

  private nextAt(): number {
    return Math.min(...[...this.kernels].map((kernel) => kernel.nextAt() ?? Number.POSITIVE_INFINITY));
  }

  /** All kernels renew their leases first: one that is attached is never taken for gone by another. */
  private async runDue(): Promise<void> {
    const kernels = [...this.kernels];
    await Promise.all(kernels.map((kernel) => kernel.renewLease()));
    await Promise.all(kernels.map((kernel) => kernel.runDue()));
  }
}

function toTime(value: number | Date, path: string): number {
  const time = Number(value);
  if (Number.isFinite(time)) return time;
  throw invalidTime(path, 'is not a time');
}

function invalidTime(path: string, problem: string): InputError {
  return new InputError('INVALID_INPUT', `${path}: ${problem}.`, {
    facts: { path, problem },
    hint: 'Give milliseconds, such as 60_000 for a minute. The time of a kernel never goes back.',
  });
}
