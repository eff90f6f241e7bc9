import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import { ProcessEnds } from '../../kernel/lifecycle/process-ends.js';
import type { Outcome, ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { ProcessResults } from '../../kernel/process/process-results.js';
import { RunEntryRepository } from '../../kernel/process/run-entry-repository.js';
import { saveProcess } from '../../kernel/process/save-process.js';
import { nextState } from '../../kernel/process/transitions.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { MemoryImageRegistry } from '../image/image-registry.js';
import type { RunStart } from '../run/run.js';
import { NodeLease } from './node-lease.js';

/** How many reruns in a row may write nothing down. */
const recoveriesMax = 20;
const claimableMax = 10_000;

/** Takes processes for this node: each by one unit, in which it is still there to be taken. */
@injectable()
export class Claims {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ProcessResults) private readonly results: ProcessResults,
    @inject(ProcessEnds) private readonly endings: ProcessEnds,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Undefined when there is nothing to claim, or nothing that this kernel can run. Throws LEASE_LOST. */
  claim(pid: Pid): Promise<RunStart | undefined> {
    return this.store.write(async (tx) => {
      const row = await this.processes.find(tx, pid);
      if (row?.status !== 'runnable' || this.images.runnable(row.image) === undefined) return undefined;
      await this.lease.assertLive(tx);
      const act: Act = { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
      if (row.recoveries < recoveriesMax) return this.start(tx, act, row);
      await this.poisoned(tx, act, row);
      return undefined;
    });
  }

  /** What is runnable and of one of `images`. */
  claimable(images: readonly string[]): Promise<Pid[]> {
    return this.store.read((tx) => this.processes.runnable(tx, images, claimableMax));
  }

  /** Whether nothing is runnable, of one of `images` or of those that are commands, or running on this node. */
  isIdle(images: readonly string[]): Promise<boolean> {
    return this.store.read(async (tx) => {
      const { nodeId } = this.node;
      if (await this.processes.isRunningOn(tx, nodeId)) return false;
      if ((await this.processes.runnable(tx, images, 1)).length > 0) return false;
      const commands = this.images.commands();
      return commands.length === 0 || (await this.processes.unstarted(tx, commands, 1)).length === 0;
    });
  }

  private async start(tx: WriteTx, act: Act, row: ProcessRow): Promise<RunStart> {
    const isRerun = row.startedAt !== null;
    const entries = isRerun ? await this.entries.all(tx, row.n) : [];
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
    return { row: started, goal: await this.results.goal(tx, started, act.at), entries };
  }

  /** A body that takes every node down with it is not started for ever. */
  private async poisoned(tx: WriteTx, act: Act, row: ProcessRow): Promise<void> {
    const evidence = { kind: 'poisoned', recoveries: row.recoveries };
    const outcome: Outcome = { kind: 'failed', reason: 'poisoned', evidence };
    const message = `It was started ${row.recoveries} times in a row without getting on.`;
    await this.endings.end(tx, act, {
      row,
      ended: nextState(row, 'fail'),
      outcome,
      action: 'process.poisoned',
      message,
    });
  }
}
