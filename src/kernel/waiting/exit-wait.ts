import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { keepAlive } from '../../base/keep-alive.js';
import { Store } from '../../base/store.js';
import { type Caller, isBody, type WaitReason, waitAs } from '../../unit/caller.js';
import { Timers } from '../../unit/timers.js';
import { Deadlines } from '../lifecycle/deadlines.js';
import { isTerminal, type ProcessRow } from '../process/process.js';
import { noSuchProcess, ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import { ExitWatch, Notifier, type WaitLimits } from './process-watch.js';

/** Waits for the ends of processes. Every process is read once at the start, and again only when it may have ended. */
@injectable()
export class ExitWait {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ExitWatch) private readonly exits: ExitWatch,
    @inject(Deadlines) private readonly deadlines: Deadlines,
    @inject(Timers) private readonly timers: Timers,
  ) {}

  /**
   * Resolves with those of `pids` that have ended, in the order of their ends, when there are `count` of them. The wait
   * is over when the waiter itself ends or is stopped. Throws WAIT_TIMEOUT, CANCELLED, PROCESS_TERMINATED.
   */
  async waitUntil(
    caller: Caller,
    pids: ReadonlySet<Pid>,
    count: number,
    waiter: Pid | undefined,
    limits: WaitLimits,
  ): Promise<ProcessRow[]> {
    const { timeoutMs } = limits;
    const deadline = timeoutMs === undefined ? {} : { deadline: this.clock.peek() + timeoutMs };
    using notifier = new Notifier(limits, isBody(caller) ? this.timers : undefined);
    using _alive = keepAlive();
    using _watch = this.exits.watch(waiter === undefined ? pids : [...pids, waiter], (pid) => notifier.notify(pid));
    using alarms = new Alarms(this.deadlines, (pid) => notifier.notify(pid));
    const ended = new Map<Pid, ProcessRow>();
    for (let notified: Iterable<Pid> = pids; ; ) {
      for (const row of await this.findRows(pids, notified)) {
        if (isTerminal(row.status)) ended.set(row.pid, row);
        // The executor that runs the body of a caller has timers for all processes.
        else if (!isBody(caller)) await alarms.expect(row);
      }
      if (ended.size >= count) return [...ended.values()].sort(compareEnds);
      const waiting = waiter === undefined ? undefined : await this.getWaiter(waiter);
      if (limits.signal?.aborted === true) throw waitAborted(pids);
      if (notifier.expired) throw waitTimeout(pids, timeoutMs ?? 0);
      const left = [...pids].filter((pid) => !ended.has(pid));
      const reason = { ...waitReasonFor(left, count - ended.size), ...deadline };
      using _timer = waiting && this.deadlines.watch(waiting, () => notifier.notify(waiting.pid));
      notified = await waitAs(caller, reason, () => notifier.next());
    }
  }

  private findRows(pids: ReadonlySet<Pid>, notified: Iterable<Pid>): Promise<ProcessRow[]> {
    return this.store.read(async (tx) => {
      const rows: ProcessRow[] = [];
      for (const pid of notified) {
        if (!pids.has(pid)) continue;
        const row = await this.processes.find(tx, pid);
        // A process that is waited for and has no row has ended and was pruned: no event will come for it.
        if (row === undefined) throw noSuchProcess(pid);
        rows.push(row);
      }
      return rows;
    });
  }

  /** Throws PROCESS_TERMINATED, and CANCELLED for a process that is being stopped or has passed its deadline. */
  private async getWaiter(waiter: Pid): Promise<ProcessRow> {
    const row = await this.store.read((tx) => this.lookup.getLive(tx, waiter));
    if (row.status === 'stopping') throw waiterStopped(row);
    if (this.deadlines.isPassed(row)) throw await this.deadlines.stopExpired(waiter);
    return row;
  }
}

/** Stops awaited processes at their deadlines, in case no node has timers. Each is tried once: a reader cannot stop any. */
class Alarms implements Disposable {
  private readonly timers: (Disposable | undefined)[] = [];
  private readonly stopped = new Set<Pid>();

  constructor(
    private readonly deadlines: Deadlines,
    private readonly wake: (pid: Pid) => void,
  ) {}

  async expect(row: ProcessRow): Promise<void> {
    const { pid } = row;
    if (this.stopped.has(pid)) return;
    if (!this.deadlines.isPassed(row)) {
      this.timers.push(this.deadlines.watch(row, () => this.wake(pid)));
      return;
    }
    this.stopped.add(pid);
    await this.deadlines.stopExpired(pid);
    this.wake(pid);
  }

  [Symbol.dispose](): void {
    for (const timer of this.timers) timer?.[Symbol.dispose]();
  }
}

/** A wait for all of them is woken by one of them at a time; a wait for some, by each. */
function waitReasonFor(left: readonly Pid[], missing: number): WaitReason {
  const on = missing === left.length ? left.slice(0, 1) : left;
  const what = left.length === 1 ? (left[0] ?? '') : `${missing} of ${left.length} children`;
  return { kind: 'child', what, on: on.map((pid) => `child:${pid}`) };
}

function compareEnds(a: ProcessRow, b: ProcessRow): number {
  return (a.exitedAt ?? 0) - (b.exitedAt ?? 0) || (a.exitOrder ?? 0) - (b.exitOrder ?? 0);
}

function firstPids(pids: Iterable<Pid>): Pid[] {
  return [...pids].slice(0, 20);
}

export function waitTimeout(pids: Iterable<Pid>, timeoutMs: number, facts: JsonObject = {}): ProcessError {
  return new ProcessError('WAIT_TIMEOUT', `Nothing ended within ${timeoutMs} ms.`, {
    facts: { children: firstPids(pids), timeoutMs, ...facts },
    hint: 'Wait again, or cancel what takes too long.',
    retryable: true,
  });
}

function waitAborted(pids: ReadonlySet<Pid>): ProcessError {
  return new ProcessError('CANCELLED', 'The wait was given up by its caller.', {
    facts: { children: firstPids(pids) },
    hint: 'Wait again to get the result.',
    retryable: true,
  });
}

function waiterStopped(row: ProcessRow): ProcessError {
  return new ProcessError('CANCELLED', `Process ${row.pid} is being stopped; its wait is over.`, {
    facts: { pid: row.pid, reason: row.stop?.kind ?? null },
    hint: 'The host can read the result with processes.result().',
  });
}
