import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { inject, injectable } from 'inversify';
import type { ClockTimers } from '../../base/clock.js';
import { KernelError } from '../../base/errors.js';
import { EventFeed } from '../../events/event-feed.js';
import { ProcessTimers } from '../../kernel/lifecycle/process-timers.js';
import { Timers } from '../../unit/timers.js';
import { Executor } from './executor.js';
import { NodeLease } from './node-lease.js';
import { NodeSettings } from './node-settings.js';
import { Recovery } from './recovery.js';

/** A kernel is settled when nothing has happened in it for this many turns of the event loop. */
const quietTurnsMin = 10;
/** The length of a turn while bodies are at work outside of the kernel, so that short work of their own can end. */
const turnMs = 5;

/** Does what has become due on this node when a clock that is moved by hand was moved. */
@injectable()
export class DueWork implements ClockTimers {
  private eventSeq = 0;

  constructor(
    @inject(Timers) private readonly timers: Timers,
    @inject(ProcessTimers) private readonly processTimers: ProcessTimers,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(Recovery) private readonly recovery: Recovery,
    @inject(Executor) private readonly executor: Executor,
    @inject(NodeSettings) private readonly settings: NodeSettings,
    @inject(EventFeed) feed: EventFeed,
  ) {
    feed.onAdvance((seq) => {
      this.eventSeq = seq;
    });
  }

  nextAt(): number | undefined {
    return this.timers.nextAt();
  }

  renewLease(): Promise<void> {
    return this.lease.renewHeld();
  }

  async runDue(): Promise<void> {
    try {
      if (this.settings.executor) await this.recovery.recoverLostNodes();
      do await this.settle();
      while (this.timers.runDue());
    } catch (error) {
      // A kernel that was shut down meanwhile has nothing more to do.
      if (!(error instanceof KernelError) || error.code !== 'KERNEL_CLOSED') throw error;
    }
  }

  /** Resolves when the kernel has nothing to do, or when the bodies that are at work wait for something outside of it. */
  private async settle(): Promise<void> {
    let before = this.activity;
    for (let quietTurns = 0; quietTurns < quietTurnsMin; quietTurns++) {
      await this.processTimers.untilSwept();
      const isIdle = !this.settings.executor || (await this.executor.isIdle());
      await (isIdle ? nextTurn() : sleep(turnMs));
      const now = this.activity;
      if (now !== before) quietTurns = -1;
      before = now;
    }
  }

  private get activity(): number {
    return this.eventSeq + this.executor.activity;
  }
}
