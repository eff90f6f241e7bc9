import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { Timers } from '../../unit/timers.js';
import type { OpenCall } from './call-tree.js';
import type { Run } from './run.js';

/** Lets runs wait until a time of the kernel's clock. */
@injectable()
export class Sleeps {
  constructor(
    @inject(Timers) private readonly timers: Timers,
    @inject(Clock) private readonly clock: KernelClock,
  ) {}

  remainingMs(dueAt: number): number {
    return Math.max(0, dueAt - this.clock.peek());
  }

  /** Resolves at once when it is `dueAt` already. Throws CANCELLED while the process is stopping. */
  async sleepUntil(run: Run, call: OpenCall, dueAt: number): Promise<void> {
    if (this.clock.peek() >= dueAt) return;
    const reason = { kind: 'timer', what: new Date(dueAt).toISOString(), on: [], deadline: dueAt } as const;
    let timer: Disposable | undefined;
    try {
      await run.whileWaiting(
        call,
        reason,
        () =>
          new Promise<void>((resolve) => {
            timer = this.timers.callAt(dueAt, resolve);
          }),
      );
    } finally {
      timer?.[Symbol.dispose]();
    }
  }
}
