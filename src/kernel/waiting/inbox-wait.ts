import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { keepAlive } from '../../base/keep-alive.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { type Caller, type WaitReason, waitAs } from '../../unit/caller.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { InboxWatch } from './inbox-watch.js';
import { Notifier, type WaitLimits } from './notifier.js';

/** Something that comes for a process and that one call gets. */
export interface AwaitedMessage<T> {
  readonly pid: Pid;
  /** The call, as its record names it. */
  readonly action: AuditAction;
  readonly blockage: WaitReason;
  isThere(tx: ReadTx): Promise<boolean>;
  /** Takes it and tells of it; undefined where another call was faster. */
  take(tx: WriteTx, act: Act, row: ProcessRow): Promise<T | undefined>;
}

/** Takes what has come for a process, or waits until something does. What finds nothing writes nothing. */
@injectable()
export class InboxWait {
  constructor(
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(InboxWatch) private readonly watch: InboxWatch,
  ) {}

  /** Throws NO_SUCH_PROCESS, PROCESS_TERMINATED, CANCELLED, WAIT_TIMEOUT. */
  async next<T>(caller: Caller, arrival: AwaitedMessage<T>, limits: WaitLimits): Promise<T> {
    const { pid, blockage } = arrival;
    const { timeoutMs, signal } = limits;
    const awaited = timeoutMs === undefined ? blockage : { ...blockage, deadline: this.clock.peek() + timeoutMs };
    const bell = new Notifier(limits);
    const alive = keepAlive();
    const watch = this.watch.watch([pid], (rung) => bell.notify(rung));
    try {
      for (;;) {
        const found = await this.found(caller, arrival);
        if (found === 'taken by another') continue;
        if (found !== undefined) return found.value;
        if (signal?.aborted === true) throw givenUp(pid, blockage);
        if (bell.expired) throw timedOut(pid, blockage, timeoutMs ?? 0);
        await waitAs(caller, awaited, () => bell.next());
      }
    } finally {
      watch[Symbol.dispose]();
      alive[Symbol.dispose]();
      bell[Symbol.dispose]();
    }
  }

  /** Undefined where there is nothing. A process that is being stopped gets what has come, and waits for nothing more. */
  private async found<T>(
    caller: Caller,
    arrival: AwaitedMessage<T>,
  ): Promise<{ value: T } | 'taken by another' | undefined> {
    const { pid, action, blockage } = arrival;
    const isThere = await this.units.read({ caller, actor: pid, action, target: pid }, async (tx) => {
      const row = await this.lookup.live(tx, pid);
      if (await arrival.isThere(tx)) return true;
      if (row.status === 'stopping') throw stopped(row, blockage);
      return false;
    });
    return isThere ? ((await this.taken(caller, arrival)) ?? 'taken by another') : undefined;
  }

  /** Undefined where another call was faster: the unit is undone, so that nothing of it is kept, nor journalled. */
  private async taken<T>(caller: Caller, { pid, action, take }: AwaitedMessage<T>): Promise<{ value: T } | undefined> {
    try {
      const value = await this.units.commit({ caller, actor: pid, action, target: pid }, async (tx, act) => {
        const found = await take(tx, act, await this.lookup.live(tx, pid));
        if (found === undefined) throw new OutdatedPreparation(pid);
        return found;
      });
      return { value };
    } catch (error) {
      if (error instanceof OutdatedPreparation) return undefined;
      throw error;
    }
  }
}

function factsOf(pid: Pid, { kind, what }: WaitReason): JsonObject {
  return { pid, kind, what };
}

function timedOut(pid: Pid, blockage: WaitReason, timeoutMs: number): ProcessError {
  return new ProcessError('WAIT_TIMEOUT', `No ${blockage.kind} came for process ${pid} within ${timeoutMs} ms.`, {
    facts: { ...factsOf(pid, blockage), timeoutMs },
    hint: 'Wait again, or go on without it.',
    retryable: true,
  });
}

function givenUp(pid: Pid, blockage: WaitReason): ProcessError {
  return new ProcessError('CANCELLED', `The wait of process ${pid} was given up by its caller.`, {
    facts: factsOf(pid, blockage),
    hint: `Wait again to get the ${blockage.kind}.`,
    retryable: true,
  });
}

function stopped({ pid, stop }: ProcessRow, blockage: WaitReason): ProcessError {
  return new ProcessError('CANCELLED', `Process ${pid} is being stopped; its wait is over.`, {
    facts: { ...factsOf(pid, blockage), reason: stop?.kind ?? null },
    hint: 'Clean up and end; what has come already can still be taken.',
  });
}
