import { inject, injectable } from 'inversify';
import { Deferred } from '../../base/deferred.js';
import { DetachedContext } from '../../base/detached-context.js';
import { isOutcomeUnknown, ProcessError, StoreError, withoutStack } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { keepAlive } from '../../base/keep-alive.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { timerMsMax } from '../../base/spec.js';
import type { EventHandlers, KernelEvent } from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';
import { SpawnStarts } from '../../kernel/lifecycle/spawn-starts.js';
import type { ImageResult } from '../image/image.js';
import type { ParsedImage } from '../image/image-definition.js';
import { MemoryImageRegistry } from '../image/image-registry.js';
import { BodyLogs } from '../run/body-logs.js';
import { BodyRunner } from '../run/body-runner.js';
import { ProcessReports } from '../run/process-reports.js';
import { ProgressReports } from '../run/progress-reports.js';
import { Run, type RunStart } from '../run/run.js';
import { leaseLost, nodeShutdown, processOver, processStopping, RunEnded } from '../run/run-errors.js';
import { RunOutcomes } from '../run/run-outcomes.js';
import { RunTable } from '../run/run-table.js';
import { guardHost } from '../run/unhandled-rejections.js';
import { ClaimLoop } from './claim-loop.js';
import { Claims } from './claims.js';
import { NodeLease } from './node-lease.js';
import { NodeOffering } from './node-offering.js';
import { NodeSettings } from './node-settings.js';
import { Slots } from './slots.js';
import { StartsWithSpawn } from './starts-with-spawn.js';
import { StrayStarts } from './stray-starts.js';
import { UnplacedProcesses } from './unplaced-processes.js';

/** The delay before an outcome is committed again to a store that is busy or full. */
const storeRetryMs = 250;

/** The return value of a body, or the error that it threw. */
type BodyOutcome = { readonly value: ImageResult } | { readonly error: unknown };

/**
 * Claims runnable processes and runs their bodies, as many at once as there are slots. It learns of them from the feed of
 * committed events, and scans the table at its start, with each renewal of the lease, and when an image or a tool is registered.
 */
@injectable()
export class Executor {
  private readonly runs = new Map<Pid, Run>();
  private readonly startsWithSpawn: StartsWithSpawn;
  private readonly context = new DetachedContext();
  private readonly slots: Slots;
  private readonly claimLoop: ClaimLoop;
  /** Present while `idle` or `close` wait for a change. */
  private nextChange: Deferred | undefined;
  private isOpen = false;
  private changes = 0;
  private subscriptions: Disposable[] = [];
  private alive: Disposable | undefined;

  constructor(
    @inject(NodeSettings) settings: NodeSettings,
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
    @inject(EventFeed) private readonly feed: EventFeed,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(NodeOffering) private readonly offering: NodeOffering,
    @inject(UnplacedProcesses) private readonly unplaced: UnplacedProcesses,
    @inject(Claims) private readonly claims: Claims,
    @inject(RunTable) private readonly table: RunTable,
    @inject(BodyRunner) private readonly bodyRunner: BodyRunner,
    @inject(RunOutcomes) private readonly outcomes: RunOutcomes,
    @inject(ProgressReports) private readonly progressReports: ProgressReports,
    @inject(BodyLogs) private readonly bodyLogs: BodyLogs,
    @inject(ProcessReports) private readonly reports: ProcessReports,
    @inject(SpawnStarts) private readonly spawnStarts: SpawnStarts,
    @inject(StrayStarts) private readonly strays: StrayStarts,
    @inject(Logger) private readonly logger: Logger,
  ) {
    this.slots = new Slots(settings.concurrency, () => this.claimLoop.wake());
    this.claimLoop = new ClaimLoop({
      ...{ claims, logger, slots: this.slots },
      start: (start) => this.begin(start),
      onNothing: () => this.unplaced.checkSoon(),
      onChange: () => this.notifyChange(),
    });
    this.startsWithSpawn = new StartsWithSpawn({
      ...{ claims, nodeId: node.nodeId, slots: this.slots },
      mayStart: () => settings.startsAtSpawn && this.isOpen && !this.claimLoop.hasWork,
      onAbandon: (pid, isStarted) => {
        if (isStarted) strays.add([pid]);
        this.notifyChange();
      },
    });
  }

  async open(): Promise<void> {
    this.isOpen = true;
    guardHost();
    this.subscriptions = [
      this.feed.subscribe('executor', this.handlers()),
      this.spawnStarts.use(this.startsWithSpawn),
      this.lease.onLost(() => this.endAllRuns()),
      this.lease.onRenewed(() => void this.scan(() => this.claimLoop.scan())),
      this.offering.onChange(() => void this.scanAll()),
    ];
    this.unplaced.start();
    this.strays.open((pid) => this.runs.has(pid));
    await this.scanAll();
  }

  /** Resolves when nothing is runnable or running on this node. Throws WAIT_TIMEOUT. */
  async idle(timeoutMs?: number): Promise<void> {
    using _alive = keepAlive();
    using limit = this.startTimeLimit(timeoutMs);
    for (;;) {
      // From before it looks: what it reads may be older than a change that comes meanwhile.
      const change = this.untilChange();
      if (await this.isIdle()) return;
      if (limit.isReached) throw idleTimeout(timeoutMs ?? 0);
      await change;
    }
  }

  /** Grows with everything that happens to the runs of this node. */
  get activity(): number {
    let activity = this.changes;
    for (const { callChanges } of this.runs.values()) activity += callChanges;
    return activity;
  }

  /** Whether no body is at work, and nothing is left to be claimed. */
  async isIdle(): Promise<boolean> {
    if (this.claimLoop.isBusy) return false;
    if ([...this.runs.values()].some((run) => run.usesSlot)) return false;
    // A run that was woken by a commit whose event has not come yet is running in the table.
    return this.claims.isIdle();
  }

  /**
   * Claims nothing more, and waits at most `graceMs` until all calls of each run are blocked, so that it can be ended.
   * Answers with the processes whose runs were ended in the middle of their work: nothing they still do is committed.
   */
  async close(graceMs: number): Promise<Pid[]> {
    this.isOpen = false;
    this.claimLoop.close();
    for (const run of this.runs.values()) {
      this.progressReports.flush(run);
      run.close(nodeShutdown(run.pid));
    }
    using grace = this.startTimeLimit(graceMs);
    while (this.runs.size > 0 && !grace.isReached) await this.untilChange();
    const fenced = [...this.runs.keys()];
    for (const run of [...this.runs.values()]) run.end(nodeShutdown(run.pid));
    for (const subscription of this.subscriptions) subscription[Symbol.dispose]();
    await this.unplaced.stop();
    await this.strays.close();
    return fenced;
  }

  private handlers(): EventHandlers<'executor'> {
    const created = (event: KernelEvent<'process.spawned' | 'process.forked'>) => {
      const { pid = '', data } = event;
      const hasBody = data.kind === 'agent' || data.kind === 'steps';
      if (hasBody && !this.startsWithSpawn.has(pid)) this.announce(event, data.image);
      this.notifyChange();
    };
    // The event comes with the next fence: a run of this process that is still open has lost it.
    const claimAgain = (event: KernelEvent) => {
      const { pid = '' } = event;
      const run = this.runs.get(pid);
      run?.end(leaseLost(pid, run.fence));
      this.announce(event);
      this.claimLoop.onProgress(pid);
      this.notifyChange();
    };
    const resumeOrClaim = (event: KernelEvent<'process.woken' | 'process.resumed'>) => {
      const run = this.runs.get(event.pid ?? '');
      if (run !== undefined) run.resume();
      else if (event.data.status === 'runnable') this.announce(event);
      else if (event.data.status === 'waiting') this.claimLoop.announceParked([event.pid ?? '']);
      this.notifyChange();
    };
    const blocked = ({ pid = '' }: KernelEvent) => {
      this.claimLoop.onProgress(pid);
      this.notifyChange();
    };
    return {
      'process.spawned': created,
      'process.forked': created,
      'process.execed': claimAgain,
      'process.renewed': claimAgain,
      'process.released': claimAgain,
      'process.retrying': claimAgain,
      'process.woken': resumeOrClaim,
      'process.resumed': resumeOrClaim,
      'process.stopping': ({ pid = '', data }) => {
        this.runs.get(pid)?.stop(processStopping(pid, data.outcome));
        this.notifyChange();
      },
      'process.exited': ({ pid = '' }) => {
        this.runs.get(pid)?.end(withoutStack(() => processOver(pid)));
        this.claimLoop.onProgress(pid);
        this.notifyChange();
      },
      'process.paused': blocked,
      'process.waiting': (event) => {
        const { pid = '', data } = event;
        if (data.kind === 'code') this.claimLoop.announceParked([pid]);
        blocked(event);
      },
      'process.started': ({ pid = '' }) => {
        this.claimLoop.forget(pid);
        const start = this.startsWithSpawn.take(pid);
        if (start !== undefined) this.begin(start);
        this.notifyChange();
      },
    };
  }

  /** Tells of a process that may be runnable. `image`: its image, where the event says it. */
  private announce({ pid = '', node }: KernelEvent, image?: string): void {
    if (!this.isOpen) return;
    if (image !== undefined && this.images.findRunnable(image) === undefined) this.unplaced.checkSoon();
    else this.claimLoop.announce(pid, node === this.node.nodeId);
  }

  /** Finds what no event has announced: processes that were there before, and those whose image or tools were registered since. */
  private async scanAll(): Promise<void> {
    await this.scan(async () => {
      await this.claimLoop.scan();
      this.claimLoop.announceParked(await this.claims.listParked());
    });
  }

  private async scan(look: () => Promise<void>): Promise<void> {
    try {
      await look();
    } catch (error) {
      this.logger.error({ error: String(error) }, 'the scan for runnable processes failed');
    }
  }

  private releaseSlot(): void {
    this.slots.release();
    this.notifyChange();
  }

  /** Begins the body of a process that was started and has a slot. */
  private begin(start: RunStart): void {
    const image = this.images.findRunnable(start.row.image);
    if (image === undefined) this.releaseSlot();
    else this.startRun(start, image);
  }

  private startRun(start: RunStart, image: ParsedImage): void {
    const run: Run = new Run(start, this.table, this.slots, () => this.onRunChange(run));
    this.runs.get(run.pid)?.end(leaseLost(run.pid, run.fence));
    this.runs.set(run.pid, run);
    this.alive ??= keepAlive();
    if (!this.isOpen) run.close(nodeShutdown(run.pid));
    void this.context.run(() => this.runBody(run, image));
  }

  /** Forgets a run that has ended, even if its body still runs. */
  private onRunChange(run: Run): void {
    if (run.endReason !== undefined && this.runs.get(run.pid) === run) {
      this.runs.delete(run.pid);
      this.changes += run.callChanges;
    }
    this.claimLoop.onProgress(run.pid);
    if (this.runs.size === 0) {
      this.alive?.[Symbol.dispose]();
      this.alive = undefined;
    }
    this.notifyChange();
  }

  /** Never throws: an error of the body is its outcome, and an outcome that cannot be committed is logged. */
  private async runBody(run: Run, image: ParsedImage): Promise<void> {
    let outcome: BodyOutcome;
    try {
      outcome = { value: await this.bodyRunner.run(run, image) };
    } catch (error) {
      outcome = { error };
    }
    await this.bodyLogs.settle(run);
    if ('value' in outcome && run.endReason === undefined && image.supervision === undefined)
      this.reports.returnedEarly(run, run.listOpenCalls());
    this.progressReports.flush(run);
    await this.recordOutcome(run, image, outcome);
    run.end(withoutStack(() => new RunEnded(run.pid)));
  }

  /** Nothing is recorded of a run that has ended already, or of an error during the shutdown of the node. */
  private async recordOutcome(run: Run, image: ParsedImage, outcome: BodyOutcome): Promise<void> {
    const { endReason } = run;
    if (endReason?.code === 'NON_DETERMINISTIC')
      return this.commitOutcome(run, () => this.outcomes.commitPark(run, image, endReason));
    if (endReason !== undefined || (run.isClosing && 'error' in outcome)) return;
    await this.commitOutcome(run, () =>
      'error' in outcome
        ? this.outcomes.commitThrow(run, image, outcome.error)
        : this.outcomes.commitReturn(run, image, outcome.value),
    );
  }

  /** Commits an outcome, again and again while the store is busy or full. Gives up when the run has ended meanwhile. */
  private async commitOutcome(run: Run, write: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (run.endReason !== undefined && run.endReason.code !== 'NON_DETERMINISTIC') return;
        this.logger.error({ pid: run.pid, error: String(error) }, 'the outcome of a body could not be committed');
        if (!mayCommitAgain(error)) return this.failProcess(run, error);
        await new Promise((resolve) => setTimeout(resolve, storeRetryMs).unref());
      }
    }
  }

  /** Fails a process whose outcome was refused, so that it does not stay `running` without a run. */
  private async failProcess(run: Run, error: unknown): Promise<void> {
    await this.outcomes.commitFailure(run, error).catch((failure: unknown) => {
      this.logger.error(
        { pid: run.pid, error: String(failure) },
        'a process has no run any more and could not be failed',
      );
    });
  }

  private endAllRuns(): void {
    for (const run of [...this.runs.values()]) run.end(leaseLost(run.pid, run.fence));
    void this.scanAll();
  }

  /** Lets `idle` and `close` check their conditions again. */
  private notifyChange(): void {
    this.changes++;
    this.nextChange?.resolve();
    this.nextChange = undefined;
  }

  private untilChange(): Promise<void> {
    this.nextChange ??= new Deferred();
    return this.nextChange.promise;
  }

  /** A limit in real time after which `isReached` is true and a change is notified; without `ms` there is none. */
  private startTimeLimit(ms: number | undefined): Disposable & { isReached: boolean } {
    const limit = { isReached: false, [Symbol.dispose]: () => clearTimeout(timer) };
    const reach = () => {
      limit.isReached = true;
      this.notifyChange();
    };
    const timer = ms === undefined ? undefined : setTimeout(reach, Math.min(ms, timerMsMax));
    return limit;
  }
}

/** Whether an outcome can be committed again. Where the commit before was carried out, the fence has moved on. */
function mayCommitAgain(error: unknown): boolean {
  return error instanceof StoreError && (error.retryable || isOutcomeUnknown(error));
}

function idleTimeout(timeoutMs: number): ProcessError {
  return new ProcessError('WAIT_TIMEOUT', `The node was still at work after ${timeoutMs} ms.`, {
    facts: { timeoutMs },
    hint: 'Wait again, or look at processes.list({ status: "running" }).',
    retryable: true,
  });
}
