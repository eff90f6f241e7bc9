import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { KernelError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { Logger } from '../../base/logger.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import type { ProcessRow, WaitState } from '../../kernel/process/process.js';
import { ProcessRepository, saveProcess } from '../../kernel/process/process-repository.js';
import { nextState } from '../../kernel/process/transitions.js';
import { WaitGraph } from '../../kernel/waiting/wait-graph.js';
import { Waker } from '../../kernel/waiting/waker.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { OpenCall, WaitingCall } from './call-tree.js';

/** A run, as far as its wait is recorded. */
interface WaitingRun {
  readonly pid: Pid;
  readonly fence: number;
  causeOf(call: OpenCall): string;
}

/** A call that would wait for ever, with the error WAIT_CYCLE. */
interface Deadlock {
  readonly call: OpenCall;
  readonly error: KernelError;
}

/** The process table as runs use it: they check there that they still hold their process, and record their waits. */
@injectable()
export class RunTable {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(WaitGraph) private readonly waitGraph: WaitGraph,
    @inject(Waker) private readonly waker: Waker,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  now(): number {
    return this.clock.peek();
  }

  find(tx: ReadTx, pid: Pid): Promise<ProcessRow | undefined> {
    return this.processes.find(tx, pid);
  }

  async isPaused(pid: Pid): Promise<boolean> {
    return (await this.store.read((tx) => this.processes.find(tx, pid)))?.status === 'paused';
  }

  /** Makes a waiting process `running` again, in the unit of the call by which it goes on. */
  async wake(tx: WriteTx, act: Act, row: ProcessRow): Promise<void> {
    await this.waker.wakeRow(tx, act, row, 'run');
  }

  /**
   * Makes the process of a run `waiting`, if the run still holds it and `isAllBlocked` still holds. The process waits for
   * whatever any of its calls waits for; the oldest call is shown. A call that closes a circle of waits is the answer.
   */
  async recordWait(
    run: WaitingRun,
    isAllBlocked: () => boolean,
    waiting: readonly WaitingCall[],
  ): Promise<Deadlock | undefined> {
    try {
      await this.store.write(async (tx) => {
        if (isAllBlocked()) await this.writeWait(tx, run, waiting);
      });
    } catch (error) {
      const [first] = waiting;
      if (error instanceof KernelError && error.code === 'WAIT_CYCLE' && first !== undefined)
        return { call: first.call, error };
      // The table shows `running` for a process that waits. Its run goes on by events all the same.
      this.logger.error({ pid: run.pid, error: String(error) }, 'the wait of a process could not be recorded');
    }
    return undefined;
  }

  private async writeWait(tx: WriteTx, run: WaitingRun, waiting: readonly WaitingCall[]): Promise<void> {
    const { pid, fence } = run;
    const oldest = waiting[0] as WaitingCall;
    const wait = toWaitState(oldest, waiting);
    const row = await this.processes.find(tx, pid);
    if (row === undefined || row.fence !== fence || !isNewWait(row, wait)) return;
    await this.waitGraph.assertNoCycle(tx, pid, { ...wait, on: wait.on ?? [] });
    const act: Act = { actor: pid, via: 'process', at: this.clock.now() };
    const blocked = row.status === 'waiting' ? { ...row, version: row.version + 1 } : nextState(row, 'block');
    const next = { ...blocked, wait, recoveries: 0, updatedAt: act.at };
    await saveProcess(this.processes, tx, next);
    const { kind, what, deadline = null } = wait;
    this.recorder.record(tx, act, next, {
      event: 'process.waiting',
      data: { kind, what, deadline },
      action: 'process.block',
      before: row.status,
      after: next.status,
      facts: { kind, what },
      cause: run.causeOf(oldest.call),
    });
  }
}

/** Whether the row is to be written: not for the same wait again, and not while the process is paused or stopping. */
function isNewWait(row: ProcessRow, wait: WaitState): boolean {
  if (row.status === 'running') return true;
  return row.status === 'waiting' && row.wait?.on?.join() !== wait.on?.join();
}

function toWaitState(oldest: WaitingCall, waiting: readonly WaitingCall[]): WaitState {
  const { kind, what, since, deadline } = oldest.wait;
  const on = [...new Set(waiting.flatMap(({ wait }) => wait.on))];
  return { kind, what, since, ...(deadline === undefined ? {} : { deadline }), on };
}
