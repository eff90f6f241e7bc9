import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import { ProcessEnds } from '../../kernel/lifecycle/process-ends.js';
import type { Outcome, ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository, saveProcess } from '../../kernel/process/process-repository.js';
import { ProcessResults } from '../../kernel/process/process-results.js';
import { RunEntryRepository } from '../../kernel/process/run-entry-repository.js';
import { nextState } from '../../kernel/process/transitions.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { RunStart } from '../run/run.js';
import { NodeLease } from './node-lease.js';
import { NodeOffering } from './node-offering.js';
import { UnplacedProcesses } from './unplaced-processes.js';

/** The number of reruns in a row that may end without a journal entry. */
const recoveriesMax = 20;
const claimableMax = 10_000;

/** Claims runnable processes for this node, each in one unit: of two nodes that try, one gets it. */
@injectable()
export class Claims {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(NodeOffering) private readonly offering: NodeOffering,
    @inject(UnplacedProcesses) private readonly unplaced: UnplacedProcesses,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ProcessResults) private readonly results: ProcessResults,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Makes the process `running` on this node and reads its journal. Undefined when it is not runnable, or when this node
   * lacks its image or a tool that the image names, or does not claim from its queue. Throws LEASE_LOST when the epoch of this node has ended.
   */
  claim(pid: Pid): Promise<RunStart | undefined> {
    return this.store.write(async (tx) => {
      const row = await this.processes.find(tx, pid);
      if (row?.status !== 'runnable') return undefined;
      if (!this.offering.canRun(row)) {
        this.unplaced.checkSoon();
        return undefined;
      }
      await this.lease.assertLive(tx);
      const act: Act = { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
      if (row.recoveries < recoveriesMax) return this.start(tx, act, row);
      await this.failPoisoned(tx, act, row);
      return undefined;
    });
  }

  /** The runnable processes that this node can run. */
  listClaimable(): Promise<Pid[]> {
    return this.store.read((tx) => this.processes.findRunnable(tx, this.offering.claimable, claimableMax));
  }

  /** Whether nothing runs on this node, nothing is runnable that it can run, and no command waits to be started by it. */
  isIdle(): Promise<boolean> {
    return this.store.read(async (tx) => {
      const { nodeId } = this.node;
      if (await this.processes.isRunningOn(tx, nodeId)) return false;
      if ((await this.processes.findRunnable(tx, this.offering.claimable, 1)).length > 0) return false;
      const { claimableCommands } = this.offering;
      if (claimableCommands.images.length === 0) return true;
      return (await this.processes.findUnstarted(tx, claimableCommands, 1)).length === 0;
    });
  }

  private async start(tx: WriteTx, act: Act, row: ProcessRow): Promise<RunStart> {
    const isRerun = row.startedAt !== null;
    const entries = isRerun ? await this.entries.findAll(tx, row.n) : [];
    const started: ProcessRow = {
      ...nextState(row, 'start'),
      node: this.node.nodeId,
      startedAt: row.startedAt ?? act.at,
      recoveries: isRerun ? row.recoveries + 1 : 0,
      updatedAt: act.at,
    };
    await saveProcess(this.processes, tx, started);
    const { kind, attempt, fence } = started;
    const node = this.node.nodeId;
    const recorded = entries.length;
    this.recorder.record(tx, act, started, {
      event: 'process.started',
      data: { kind, node, attempt, recorded },
      action: 'process.start',
      before: row.status,
      after: started.status,
      facts: { node, attempt, fence, recorded },
    });
    return { row: started, goal: await this.results.goalHandleOf(tx, started, act.at), entries };
  }

  /** Fails a process whose body crashes every node that runs it, or never makes progress. */
  private async failPoisoned(tx: WriteTx, act: Act, row: ProcessRow): Promise<void> {
    const evidence = { kind: 'poisoned', recoveries: row.recoveries };
    const outcome: Outcome = { kind: 'failed', reason: 'poisoned', evidence };
    const message = `It was started ${row.recoveries} times in a row without getting on.`;
    await this.processEnds.end(tx, act, {
      row,
      ended: nextState(row, 'fail'),
      outcome,
      action: 'process.poisoned',
      message,
    });
  }
}
