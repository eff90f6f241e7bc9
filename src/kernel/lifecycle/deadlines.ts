import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { ProcessError, StoreError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import { Timers } from '../../unit/timers.js';
import { type ProcessRow, toActingProcess } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { ProcessEnds } from './process-ends.js';

/** Stops processes whose deadline has passed: at the time itself where a node has timers, otherwise at their next call. */
@injectable()
export class Deadlines {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Timers) private readonly timers: Timers,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
  ) {}

  isPassed(row: ProcessRow, at = this.clock.peek()): boolean {
    const { deadlineAt } = toActingProcess(row);
    return deadlineAt !== null && deadlineAt <= at;
  }

  /** Stops those of `rows` whose deadline has passed, and everything under them. */
  async stopLate(tx: WriteTx, act: Act, rows: readonly ProcessRow[]): Promise<void> {
    const late = rows.filter((row) => this.isPassed(row, act.at));
    const all = new Map(late.map((row) => [row.pid, row]));
    for (const row of await this.processes.findLiveTrees(tx, [...all.keys()])) all.set(row.pid, row);
    await this.processEnds.stop(tx, act, {
      rows: [...all.values()],
      order: { kind: 'timed_out', by: 'kernel' },
      action: 'process.timeout',
    });
  }

  /** Stops a process that was found to be late, in a unit of its own. Gives the refusal of the call that found it. */
  async stopExpired(pid: Pid): Promise<ProcessError> {
    try {
      await this.store.write(async (tx) => {
        const row = await this.processes.find(tx, pid);
        const act: Act = { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
        if (row !== undefined) await this.stopLate(tx, act, [row]);
      });
    } catch (error) {
      // A kernel that only reads refuses the call all the same.
      if (!(error instanceof StoreError) || error.code !== 'STORE_READONLY') throw error;
    }
    return deadlinePassed(pid);
  }

  /** Calls `wake` at the deadline of the process, if it has one. */
  watch(row: ProcessRow, wake: () => void): Disposable | undefined {
    return this.watchAt(toActingProcess(row).deadlineAt, wake);
  }

  /** Calls `wake` at that time, if there is one. */
  watchAt(deadlineAt: number | null, wake: () => void): Disposable | undefined {
    return deadlineAt === null ? undefined : this.timers.callAt(deadlineAt, wake);
  }
}

function deadlinePassed(pid: Pid): ProcessError {
  return new ProcessError('CANCELLED', `The deadline of process ${pid} has passed: it is stopped.`, {
    facts: { pid, reason: 'timed_out' },
    hint: 'Spawn a process with more time; processes.setBudget can give a live one a later deadline before it passes.',
  });
}
