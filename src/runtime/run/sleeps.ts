import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { OpenCall } from './call-tree.js';
import type { Run } from './run.js';
import { Timers } from './timers.js';

/** Lets runs wait for a moment. */
@injectable()
export class Sleeps {
  constructor(
    @inject(Timers) private readonly timers: Timers,
    @inject(Clock) private readonly clock: KernelClock,
  ) {}

  /** How long it is until `due`. */
  left(due: number): number {
    return Math.max(0, due - this.clock.peek());
  }

  async until(run: Run, call: OpenCall, due: number): Promise<void> {
    if (this.clock.peek() >= due) return;
    const blockage = { kind: 'timer', what: new Date(due).toISOString(), on: [], deadline: due } as const;
    let alarm: Disposable | undefined;
    try {
      await run.blocked(
        call,
        blockage,
        () =>
          new Promise<void>((resolve) => {
            alarm = this.timers.at(due, resolve);
          }),
      );
    } finally {
      alarm?.[Symbol.dispose]();
    }
  }
}
