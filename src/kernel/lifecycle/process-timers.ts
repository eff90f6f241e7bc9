import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { KernelEvent } from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';
import type { Act } from '../../unit/act.js';
import { Timers } from '../../unit/timers.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { Waker } from '../waiting/waker.js';
import { Deadlines } from './deadlines.js';
import { ProcessEnds } from './process-ends.js';

const dueRowsMax = 1_000;
const retryMs = 50;

/** Acts at the times in the process table: wakes waiting processes, stops processes at their deadline, ends those whose grace is over. */
@injectable()
export class ProcessTimers {
  private nextAt = Number.POSITIVE_INFINITY;
  private timer: Disposable | undefined;
  private retry: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> | undefined;
  private isDueAgain = false;
  private subscription: Disposable | undefined;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Timers) private readonly timers: Timers,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Waker) private readonly waker: Waker,
    @inject(Deadlines) private readonly deadlines: Deadlines,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
    @inject(EventFeed) private readonly feed: EventFeed,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  async start(): Promise<void> {
    const expectDeadline = ({ data }: KernelEvent<'process.spawned' | 'process.forked' | 'budget.limited'>) =>
      this.expect(data.deadlineAt ?? null);
    this.subscription = this.feed.subscribe('timers', {
      'process.stopping': ({ data }) => this.expect(data.alarmAt),
      'process.retrying': ({ data }) => this.expect(data.dueAt),
      'process.spawned': expectDeadline,
      'process.forked': expectDeadline,
      'budget.limited': expectDeadline,
    });
    await this.expectNext();
  }

  async stop(): Promise<void> {
    this.subscription?.[Symbol.dispose]();
    this.clear();
    await this.sweeping;
    this.clear();
  }

  /** Resolves when no sweep is under way. */
  async untilSwept(): Promise<void> {
    while (this.sweeping !== undefined) await this.sweeping;
  }

  /** Rows that a sweep has left due are tried again a moment later, so that one that cannot be handled does not keep the kernel busy. */
  private async expectNext(): Promise<void> {
    const at = await this.store.read((tx) => this.processes.findNextAlarm(tx));
    if (at !== null && at <= this.clock.peek()) this.retryLater();
    else this.expect(at);
  }

  /** Sweeps at `at`, unless a sweep comes earlier anyway. */
  private expect(at: number | null): void {
    if (at === null || at >= this.nextAt) return;
    this.timer?.[Symbol.dispose]();
    this.nextAt = at;
    this.timer = this.timers.callAt(at, () => this.startSweep());
  }

  private retryLater(): void {
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.startSweep(), retryMs).unref();
  }

  private clear(): void {
    this.timer?.[Symbol.dispose]();
    clearTimeout(this.retry);
    this.nextAt = Number.POSITIVE_INFINITY;
    this.isDueAgain = false;
  }

  /** One sweep at a time: a time that comes during a sweep starts another one after it. */
  private startSweep(): void {
    this.nextAt = Number.POSITIVE_INFINITY;
    this.isDueAgain = this.sweeping !== undefined;
    this.sweeping ??= this.sweep()
      .catch((error) => {
        this.logger.error({ error: String(error) }, 'due processes could not be stopped');
        this.retryLater();
      })
      .finally(() => {
        this.sweeping = undefined;
        if (this.isDueAgain) this.startSweep();
      });
  }

  private async sweep(): Promise<void> {
    await this.store.write(async (tx) => {
      const act: Act = { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
      const due = await this.processes.findDue(tx, act.at, dueRowsMax);
      for (const row of due) if (isTimerOver(row, act.at)) await this.waker.wakeRow(tx, act, row, 'timer');
      await this.deadlines.stopLate(tx, act, due);
      await this.processEnds.load(
        tx,
        due.filter(({ status }) => status === 'stopping'),
      );
      for (const { pid } of due) await this.endStopping(tx, act, await this.processes.find(tx, pid));
    });
    await this.expectNext();
  }

  private async endStopping(tx: WriteTx, act: Act, row: ProcessRow | undefined): Promise<void> {
    if (row?.status !== 'stopping' || row.alarmAt === null || row.alarmAt > act.at) return;
    await this.processEnds.endStopping(tx, act, row, 'process.graceOver');
  }
}

/** Whether a process that no node runs waits for a time of the table that has come, such as that of its next retry. */
function isTimerOver({ wait, node }: ProcessRow, now: number): boolean {
  return node === null && wait?.kind === 'timer' && (wait.deadline ?? 0) <= now;
}
