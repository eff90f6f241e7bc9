import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { KernelEvent } from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';
import type { Act } from '../../unit/act.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { Waker } from '../waiting/waker.js';
import { ProcessEnds } from './process-ends.js';

const dueRowsMax = 1_000;
const lookMs = 50;

/** Does what the time demands: wakes processes, stops them at their deadline, and ends those whose grace is over. */
@injectable()
export class ProcessTimers {
  private next: number | null = null;
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> | undefined;
  private subscription: Disposable | undefined;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Waker) private readonly wakes: Waker,
    @inject(ProcessEnds) private readonly endings: ProcessEnds,
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
    this.expect(await this.store.read((tx) => this.processes.nextAlarm(tx)));
  }

  async stop(): Promise<void> {
    this.subscription?.[Symbol.dispose]();
    clearInterval(this.timer);
    this.timer = undefined;
    this.next = null;
    await this.sweeping;
  }

  /** The clock may be a caller's own, so the time is looked at rather than slept through. */
  private expect(at: number | null): void {
    if (at === null) return;
    this.next = Math.min(this.next ?? at, at);
    this.timer ??= setInterval(() => this.look(), lookMs).unref();
  }

  private look(): void {
    if (this.next === null || this.sweeping !== undefined || this.clock.peek() < this.next) return;
    this.sweeping = this.sweep()
      .catch((error) => this.logger.error({ error: String(error) }, 'due processes could not be stopped'))
      .finally(() => {
        this.sweeping = undefined;
      });
  }

  private async sweep(): Promise<void> {
    await this.store.write(async (tx) => {
      const act: Act = { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
      const due = await this.processes.due(tx, act.at, dueRowsMax);
      for (const row of due) if (isTimerOver(row, act.at)) await this.wakes.wakeRow(tx, act, row, 'timer');
      const late = due.filter(({ status, deadlineAt }) => status !== 'stopping' && (deadlineAt ?? Infinity) <= act.at);
      await this.endings.stop(tx, act, {
        rows: await this.whole(tx, late),
        order: { kind: 'timed_out', by: 'kernel' },
        action: 'process.timeout',
      });
      for (const { pid } of due) await this.endStopping(tx, act, await this.processes.find(tx, pid));
    });
    await this.rest();
  }

  /** Waits for the next alarm, or for none at all. */
  private async rest(): Promise<void> {
    clearInterval(this.timer);
    this.timer = undefined;
    this.next = null;
    this.expect(await this.store.read((tx) => this.processes.nextAlarm(tx)));
  }

  private async whole(tx: WriteTx, rows: readonly ProcessRow[]): Promise<ProcessRow[]> {
    const all = new Map(rows.map((row) => [row.pid, row]));
    for (const { pid } of rows) for (const row of await this.processes.liveTree(tx, pid)) all.set(row.pid, row);
    return [...all.values()];
  }

  private async endStopping(tx: WriteTx, act: Act, row: ProcessRow | undefined): Promise<void> {
    if (row?.status !== 'stopping' || row.alarmAt === null || row.alarmAt > act.at) return;
    await this.endings.endStopping(tx, act, row, 'process.graceOver');
  }
}

/** A process that no node runs waits for a moment of the table, such as its next try. */
function isTimerOver({ wait, node }: ProcessRow, now: number): boolean {
  return node === null && wait?.kind === 'timer' && (wait.deadline ?? 0) <= now;
}
