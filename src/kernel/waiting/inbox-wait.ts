import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { keepAlive } from '../../base/keep-alive.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { type Call, type Caller, isBody, timeLimitOf, type WaitReason, waitAs } from '../../unit/caller.js';
import { Timers } from '../../unit/timers.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import { Deadlines } from '../lifecycle/deadlines.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { InboxOrder, type InboxPlace } from './inbox-order.js';
import { InboxWatch, Notifier, type WaitLimits } from './process-watch.js';

/** A message or a signal that a call waits for, and that only one call gets. */
export interface AwaitedItem<T> {
  readonly pid: Pid;
  /** The action of the audit record of the call. */
  readonly action: AuditAction;
  readonly reason: WaitReason;
  hasArrived(tx: ReadTx): Promise<boolean>;
  /** Takes it and records that; undefined where another call was faster. */
  take: TakeItem<T>;
  /**
   * The check of an item by the schema of the receiver's image, to be run outside of units; it answers with the function
   * that takes or refuses the item. Undefined where the image has no schema for it.
   */
  findCheck(tx: ReadTx, row: ProcessRow): Promise<(() => Promise<TakeItem<T | typeof refusedItem>>) | undefined>;
}

type TakeItem<T> = (tx: WriteTx, act: Act, row: ProcessRow) => Promise<T | undefined>;

/** The item was taken, and not handed over because it does not fit. */
export const refusedItem = Symbol('refused');

/** Takes a message or signal of a process, or waits until one comes. A call that finds nothing writes nothing. */
@injectable()
export class InboxWait {
  private readonly order = new InboxOrder();

  constructor(
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(InboxWatch) private readonly arrivals: InboxWatch,
    @inject(Deadlines) private readonly deadlines: Deadlines,
    @inject(Timers) private readonly timers: Timers,
  ) {}

  /** Throws NO_SUCH_PROCESS, PROCESS_TERMINATED, CANCELLED, WAIT_TIMEOUT. */
  async takeNext<T>(caller: Caller, item: AwaitedItem<T>, limits: WaitLimits): Promise<T> {
    const { pid, action, reason } = item;
    const { timeoutMs, signal } = limits;
    const timeLimit = timeLimitOf(timeoutMs, (facts) => inboxTimeout(pid, reason, timeoutMs ?? 0, facts));
    const call: Call = { caller, actor: pid, action, target: pid, signal, timeLimit };
    const awaited = timeoutMs === undefined ? reason : { ...reason, deadline: this.clock.peek() + timeoutMs };
    // Without `using`, whose compiled form takes more memory: thousands of processes may wait here.
    const notifier = new Notifier(limits, isBody(caller) ? this.timers : undefined);
    const alive = keepAlive();
    const place = this.order.join(pid, reason, notifier, !isBody(caller));
    const watch = this.arrivals.watch([pid], (notified) => {
      // The others are woken one after another when it has looked.
      if (place.isNext) notifier.notify(notified);
    });
    let timer: Disposable | undefined;
    try {
      for (;;) {
        const found = await this.tryTake(call, item, place);
        if (found === 'taken by another') continue;
        if ('value' in found) return found.value;
        if (found.isForAnother && place.isNext) continue;
        const mayYield = found.isForAnother && place.yieldTurn();
        if (signal?.aborted === true) throw inboxWaitAborted(pid, reason);
        // One that looks once gets what is there, also after calls that were made before it.
        if (notifier.expired && !(mayYield && timeoutMs === 0)) throw inboxTimeout(pid, reason, timeoutMs ?? 0);
        if (mayYield) {
          await notifier.next();
          continue;
        }
        place.park();
        timer?.[Symbol.dispose]();
        timer = this.deadlines.watchAt(found.deadlineAt, () => notifier.notify(pid));
        await waitAs(caller, awaited, () => notifier.next());
      }
    } finally {
      timer?.[Symbol.dispose]();
      watch[Symbol.dispose]();
      place[Symbol.dispose]();
      alive[Symbol.dispose]();
      notifier[Symbol.dispose]();
    }
  }

  /** A process that is being stopped gets what has arrived, and waits for nothing more. */
  private async tryTake<T>(
    call: Call,
    item: AwaitedItem<T>,
    place: InboxPlace,
  ): Promise<{ value: T } | 'taken by another' | NothingTaken> {
    const { pid, reason } = item;
    place.look();
    const { deadlineAt, isPaused, hasArrived, check } = await this.units.read(call, async (tx) => {
      const row = await this.lookup.getLive(tx, pid);
      const hasArrived = await item.hasArrived(tx);
      if (!hasArrived && row.status === 'stopping') throw receiverStopped(row, reason);
      const check = hasArrived && place.isNext ? await item.findCheck(tx, row) : undefined;
      return { deadlineAt: row.deadlineAt, isPaused: row.status === 'paused', hasArrived, check };
    });
    if (!hasArrived || !place.isNext) return { deadlineAt, isForAnother: hasArrived && !isPaused };
    const take = check === undefined ? item.take : await check();
    place.take();
    return (await this.takeInUnit(call, pid, take, place)) ?? 'taken by another';
  }

  /**
   * Undefined where another call was faster, or has not found anything and is before this one: the unit is undone, so that
   * nothing is written or journalled. Undefined too where the item was refused, which is no answer of the call.
   */
  private async takeInUnit<T>(
    call: Call,
    pid: Pid,
    take: TakeItem<T | typeof refusedItem>,
    place: InboxPlace,
  ): Promise<{ value: T } | undefined> {
    try {
      const taken = await this.units.commit(call, async (tx, act) => {
        const value = place.isNext ? await take(tx, act, await this.lookup.getLive(tx, pid)) : undefined;
        if (value === undefined) {
          // The units behind it, which may find something that has come since, run before this one is told.
          place.look();
          throw new OutdatedPreparation(pid);
        }
        return value === refusedItem ? undefined : value;
      });
      return taken === undefined ? undefined : { value: taken };
    } catch (error) {
      if (error instanceof OutdatedPreparation) return undefined;
      throw error;
    }
  }
}

/** The deadline of the process, and not its whole row, which would be kept while it waits. */
interface NothingTaken extends Pick<ProcessRow, 'deadlineAt'> {
  /** Whether there is something, which a call that was made before gets. While the process is paused, nobody gets anything. */
  readonly isForAnother: boolean;
}

function factsOf(pid: Pid, { kind, what }: WaitReason): JsonObject {
  return { pid, kind, what };
}

function inboxTimeout(pid: Pid, reason: WaitReason, timeoutMs: number, facts: JsonObject = {}): ProcessError {
  return new ProcessError('WAIT_TIMEOUT', `No ${reason.kind} came for process ${pid} within ${timeoutMs} ms.`, {
    facts: { ...factsOf(pid, reason), timeoutMs, ...facts },
    hint: 'Wait again, or go on without it.',
    retryable: true,
  });
}

function inboxWaitAborted(pid: Pid, reason: WaitReason): ProcessError {
  return new ProcessError('CANCELLED', `The wait of process ${pid} was given up by its caller.`, {
    facts: factsOf(pid, reason),
    hint: `Wait again to get the ${reason.kind}.`,
    retryable: true,
  });
}

function receiverStopped({ pid, stop }: ProcessRow, reason: WaitReason): ProcessError {
  return new ProcessError('CANCELLED', `Process ${pid} is being stopped; its wait is over.`, {
    facts: { ...factsOf(pid, reason), reason: stop?.kind ?? null },
    hint: 'Clean up and end; what has come already can still be taken.',
  });
}
