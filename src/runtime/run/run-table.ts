import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { KernelError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { Logger } from '../../base/logger.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import type { ProcessRow, WaitState } from '../../kernel/process/process.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { saveProcess } from '../../kernel/process/save-process.js';
import { nextState } from '../../kernel/process/transitions.js';
import { WaitGraph } from '../../kernel/waiting/wait-graph.js';
import { Waker } from '../../kernel/waiting/waker.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { Blocked, OpenCall } from './call-tree.js';

/** What a run that waits is called by. */
interface Waiter {
  readonly pid: Pid;
  readonly fence: number;
}

interface BlockedCall {
  readonly call: OpenCall;
  readonly blockage: Blocked;
}

/** The process table as runs see it: whether they still hold their process, and that they wait. */
@injectable()
export class RunTable {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(WaitGraph) private readonly graph: WaitGraph,
    @inject(Waker) private readonly wakes: Waker,
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

  async rouse(tx: WriteTx, act: Act, row: ProcessRow): Promise<void> {
    await this.wakes.wakeRow(tx, act, row, 'run');
  }

  /** Writes that the run waits, if it still does. Answers with the call that would wait for ever. */
  async block(
    waiter: Waiter,
    isQuiet: () => boolean,
    blocked: readonly BlockedCall[],
  ): Promise<{ call: OpenCall; error: KernelError } | undefined> {
    try {
      await this.store.write(async (tx) => {
        if (isQuiet()) await this.write(tx, waiter, waitOf(blocked));
      });
    } catch (error) {
      const [first] = blocked;
      if (error instanceof KernelError && error.code === 'WAIT_CYCLE' && first !== undefined)
        return { call: first.call, error };
      // Only the table does not show that it waits: the run itself is woken by events all the same.
      this.logger.error({ pid: waiter.pid, error: String(error) }, 'that a process waits was not written');
    }
    return undefined;
  }

  private async write(tx: WriteTx, { pid, fence }: Waiter, wait: WaitState): Promise<void> {
    const row = await this.processes.find(tx, pid);
    if (row === undefined || row.fence !== fence || !changes(row, wait)) return;
    await this.graph.assertNoCycle(tx, pid, { ...wait, on: wait.on ?? [] });
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
    });
  }
}

/** A process that waits for something else now says so; one that is paused or stopping is left alone. */
function changes(row: ProcessRow, wait: WaitState): boolean {
  if (row.status === 'running') return true;
  return row.status === 'waiting' && row.wait?.on?.join() !== wait.on?.join();
}

function waitOf(blocked: readonly BlockedCall[]): WaitState {
  const oldest = (blocked[0] as BlockedCall).blockage;
  const on = [...new Set(blocked.flatMap(({ blockage }) => blockage.on))];
  const { kind, what, since, deadline } = oldest;
  return { kind, what, since, ...(deadline === undefined ? {} : { deadline }), on };
}
