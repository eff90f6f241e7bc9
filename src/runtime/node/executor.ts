import { inject, injectable } from 'inversify';
import { Deferred } from '../../base/deferred.js';
import { ProcessError, StoreError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { keepAlive } from '../../base/keep-alive.js';
import { Logger } from '../../base/logger.js';
import { timerMsMax } from '../../base/spec.js';
import type { EventHandlers, KernelEvent } from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';
import type { ImageResult } from '../image/image.js';
import type { ParsedImage } from '../image/image-definition.js';
import { MemoryImageRegistry } from '../image/image-registry.js';
import { BodyRunner } from '../run/body-runner.js';
import { ProgressReports } from '../run/progress-reports.js';
import { leaseLost, Run, type RunStart } from '../run/run.js';
import { RunEnded } from '../run/run-ended.js';
import { RunEndings } from '../run/run-endings.js';
import { RunTable } from '../run/run-table.js';
import { guardHost } from '../run/unhandled-rejections.js';
import { Claims } from './claims.js';
import { NodeLease } from './node-lease.js';
import { NodeSettings } from './node-settings.js';
import { Slots } from './slots.js';

/** How long after a store that is busy or full the end of a body is written again. */
const storeRetryMs = 250;

/** How a body ended. */
type Ended = { readonly value: ImageResult } | { readonly error: unknown };

/**
 * Runs bodies. Commits wake it: its own at once, those of other programs through the same feed; a slow look at the table
 * is the safety net.
 */
@injectable()
export class Executor {
  private readonly runs = new Map<Pid, Run>();
  /** What may be runnable, in the order in which it was heard of. */
  private readonly queue = new Set<Pid>();
  private readonly slots: Slots;
  /** Resolved by the next change that somebody may wait for. */
  private nextChange = new Deferred();
  private claiming = 0;
  private isOpen = false;
  private subscriptions: Disposable[] = [];
  private alive: Disposable | undefined;

  constructor(
    @inject(NodeSettings) settings: NodeSettings,
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
    @inject(EventFeed) private readonly feed: EventFeed,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(Claims) private readonly claims: Claims,
    @inject(RunTable) private readonly table: RunTable,
    @inject(BodyRunner) private readonly bodies: BodyRunner,
    @inject(RunEndings) private readonly endings: RunEndings,
    @inject(ProgressReports) private readonly reports: ProgressReports,
    @inject(Logger) private readonly logger: Logger,
  ) {
    this.slots = new Slots(settings.concurrency, () => this.pump());
  }

  async start(): Promise<void> {
    this.isOpen = true;
    guardHost();
    this.subscriptions = [
      this.feed.subscribe('executor', this.handlers()),
      this.lease.onLost(() => this.loseAll()),
      this.lease.onRenewed(() => void this.scanRunnable()),
    ];
    this.images.onRegister(() => void this.scanRunnable());
    await this.scanRunnable();
  }

  /** Resolves when nothing is runnable or running on this node. Throws WAIT_TIMEOUT. */
  async idle(timeoutMs?: number): Promise<void> {
    using _alive = keepAlive();
    using limit = this.limit(timeoutMs);
    while (!(await this.isIdle())) {
      if (limit.isReached) throw stillBusy(timeoutMs ?? 0);
      await this.nextChange.promise;
    }
  }

  /**
   * Takes no more work, and waits at most `graceMs` for bodies to come to a point where they can be run again. Answers
   * with those that did not: whatever they still do changes nothing.
   */
  async close(graceMs: number): Promise<Pid[]> {
    this.isOpen = false;
    this.queue.clear();
    for (const run of this.runs.values()) {
      this.reports.flush(run);
      run.close(shuttingDown(run.pid));
    }
    using grace = this.limit(graceMs);
    while (this.runs.size > 0 && !grace.isReached) await this.nextChange.promise;
    const fenced = [...this.runs.keys()];
    for (const run of [...this.runs.values()]) run.end(shuttingDown(run.pid));
    for (const subscription of this.subscriptions) subscription[Symbol.dispose]();
    return fenced;
  }

  private handlers(): EventHandlers<'executor'> {
    const created = ({ pid = '', data }: KernelEvent<'process.spawned' | 'process.forked'>) => {
      if (data.kind === 'agent' || data.kind === 'steps') this.enqueue(pid);
      this.changed();
    };
    // A run that did this itself is over by its own end; any other run does not hold the process any more.
    const runAgain = ({ pid = '' }: KernelEvent) => {
      const run = this.runs.get(pid);
      run?.end(leaseLost(pid, run.fence));
      this.enqueue(pid);
      this.changed();
    };
    const goOn = ({ pid = '' }: KernelEvent) => {
      const run = this.runs.get(pid);
      if (run === undefined) this.enqueue(pid);
      else run.resumed();
      this.changed();
    };
    const changed = () => this.changed();
    return {
      'process.spawned': created,
      'process.forked': created,
      'process.execed': runAgain,
      'process.released': runAgain,
      'process.retrying': runAgain,
      'process.woken': goOn,
      'process.resumed': goOn,
      'process.stopping': ({ pid = '', data }) => {
        this.runs.get(pid)?.stop(stopped(pid, data.outcome));
        this.changed();
      },
      'process.exited': ({ pid = '' }) => {
        this.runs.get(pid)?.end(gone(pid));
        this.changed();
      },
      'process.paused': changed,
      'process.waiting': changed,
      'process.started': changed,
    };
  }

  private enqueue(pid: Pid): void {
    if (!this.isOpen) return;
    this.queue.add(pid);
    this.pump();
  }

  /** What the feed has not told: what was runnable before, and what a node that is gone has left. */
  private async scanRunnable(): Promise<void> {
    try {
      for (const pid of await this.claims.claimable(this.images.runnables())) this.enqueue(pid);
    } catch (error) {
      this.logger.error({ error: String(error) }, 'runnable processes could not be looked for');
    }
  }

  private pump(): void {
    for (const pid of this.queue) {
      if (!this.isOpen || !this.slots.tryTake()) return;
      this.queue.delete(pid);
      this.claiming++;
      void this.claim(pid);
    }
  }

  private async claim(pid: Pid): Promise<void> {
    const start = await this.claims.claim(pid).catch((error: unknown) => this.notClaimed(pid, error));
    this.claiming--;
    const image = start === undefined ? undefined : this.images.runnable(start.row.image);
    if (start === undefined || image === undefined) return this.notRun();
    this.begin(start, image);
  }

  private notRun(): void {
    this.slots.give();
    this.changed();
  }

  /** A store that is busy is tried again with the next look around. */
  private notClaimed(pid: Pid, error: unknown): undefined {
    this.logger.error({ pid, error: String(error) }, 'a process could not be claimed');
  }

  private begin(start: RunStart, image: ParsedImage): void {
    const run: Run = new Run(start, this.table, this.slots, () => this.moved(run));
    this.runs.get(run.pid)?.end(leaseLost(run.pid, run.fence));
    this.runs.set(run.pid, run);
    this.alive ??= keepAlive();
    if (!this.isOpen) run.close(shuttingDown(run.pid));
    void this.carry(run, image);
  }

  /** A run that is over is forgotten, whatever its body still does. */
  private moved(run: Run): void {
    if (run.over !== undefined && this.runs.get(run.pid) === run) this.runs.delete(run.pid);
    if (this.runs.size === 0) {
      this.alive?.[Symbol.dispose]();
      this.alive = undefined;
    }
    this.changed();
  }

  /** A body that throws fails its process and never the host. */
  private async carry(run: Run, image: ParsedImage): Promise<void> {
    let ended: Ended;
    try {
      ended = { value: await this.bodies.run(run, image) };
    } catch (error) {
      ended = { error };
    }
    this.reports.flush(run);
    await this.settle(run, image, ended);
    run.end(new RunEnded(run.pid));
  }

  /** What a run that is over gave counts no more, nor what a body threw because the node shuts down. */
  private async settle(run: Run, image: ParsedImage, ended: Ended): Promise<void> {
    const { over } = run;
    if (over?.code === 'NON_DETERMINISTIC') return this.settled(run, () => this.endings.stopped(run, over));
    if (over !== undefined || (run.isClosing && 'error' in ended)) return;
    await this.settled(run, () =>
      'error' in ended ? this.endings.threw(run, image, ended.error) : this.endings.returned(run, image, ended.value),
    );
  }

  /** Writes the end of a body; what the store cannot take now it is given again. */
  private async settled(run: Run, write: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (run.over !== undefined && run.over.code !== 'NON_DETERMINISTIC') return;
        this.logger.error({ pid: run.pid, error: String(error) }, 'the end of a body was not written');
        if (!(error instanceof StoreError) || !error.retryable) return this.givenUp(run, error);
        await new Promise((resolve) => setTimeout(resolve, storeRetryMs).unref());
      }
    }
  }

  /** A process whose end cannot be written is not left running with nobody behind it. */
  private async givenUp(run: Run, error: unknown): Promise<void> {
    await this.endings.stopped(run, error).catch((failure: unknown) => {
      this.logger.error({ pid: run.pid, error: String(failure) }, 'a process whose body has ended is still running');
    });
  }

  private loseAll(): void {
    for (const run of [...this.runs.values()]) run.end(leaseLost(run.pid, run.fence));
    void this.scanRunnable();
  }

  private async isIdle(): Promise<boolean> {
    if (this.queue.size > 0 || this.claiming > 0) return false;
    if ([...this.runs.values()].some((run) => run.isAtWork)) return false;
    // A run that was woken in a commit, and has not heard of it yet, is running in the table.
    return this.claims.isIdle(this.images.runnables());
  }

  /** Who waits for a change looks again. */
  private changed(): void {
    this.nextChange.resolve();
    this.nextChange = new Deferred();
  }

  /** A moment in real time at which waiting for a change is over; absent: never. */
  private limit(ms: number | undefined): Disposable & { isReached: boolean } {
    const limit = { isReached: false, [Symbol.dispose]: () => clearTimeout(timer) };
    const reach = () => {
      limit.isReached = true;
      this.changed();
    };
    const timer = ms === undefined ? undefined : setTimeout(reach, Math.min(ms, timerMsMax));
    return limit;
  }
}

function shuttingDown(pid: Pid): ProcessError {
  return new ProcessError('SHUTDOWN', `The kernel that runs process ${pid} shuts down.`, {
    facts: { pid },
    hint: 'Let it pass: the process goes on where it was when a kernel that has its image is open.',
    retryable: true,
  });
}

function gone(pid: Pid): ProcessError {
  return new ProcessError('PROCESS_TERMINATED', `Process ${pid} has ended.`, {
    facts: { pid },
    hint: 'Nothing that its body still does counts.',
  });
}

function stopped(pid: Pid, reason: string): ProcessError {
  return new ProcessError('CANCELLED', `Process ${pid} is being stopped (${reason}).`, {
    facts: { pid, reason },
    hint: 'End soon: when the grace is over, the process is ended, and nothing that it does counts any more.',
  });
}

function stillBusy(timeoutMs: number): ProcessError {
  return new ProcessError('WAIT_TIMEOUT', `The node was still at work after ${timeoutMs} ms.`, {
    facts: { timeoutMs },
    hint: 'Wait again, or look at processes.list({ status: "running" }).',
    retryable: true,
  });
}
