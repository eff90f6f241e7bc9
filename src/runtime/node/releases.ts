import { inject, injectable } from 'inversify';
import type { NodeId, Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import { Effects } from '../../kernel/effect/effects.js';
import { ProcessEnds } from '../../kernel/lifecycle/process-ends.js';
import type { Outcome, ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository, saveProcess } from '../../kernel/process/process-repository.js';
import { nextState } from '../../kernel/process/transitions.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';

/** The state of a process after its release. `unchanged` are commands and external processes, which live without a node. */
export type ReleaseResult = 'rerun' | 'paused' | 'stopped' | 'abandoned' | 'unchanged';

/** The reason why the node does not hold the process any more. */
export type ReleaseReason = 'lapsed' | 'dead' | 'missing' | 'restarted' | 'shutdown' | 'store';

export interface ReleasedProcess {
  readonly pid: Pid;
  readonly result: ReleaseResult;
}

/** Takes processes from their node. Each gets the next fence, so that a run which is still there commits nothing more. */
@injectable()
export class Releases {
  constructor(
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Effects) private readonly effects: Effects,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Releases everything that `node` holds: first its open effects, whose outcomes are then unknown, then its processes,
   * parents before children. To be called in the unit that ends the epoch of the node, or that finds it ended.
   */
  async releaseAll(tx: WriteTx, act: Act, node: NodeId, reason: ReleaseReason): Promise<ReleasedProcess[]> {
    await this.effects.settleLost(tx, act, node);
    const released: ReleasedProcess[] = [];
    const turns = new Turns();
    const held = await this.processes.findByNode(tx, node);
    await this.processEnds.load(tx, held.filter(endsWithNode));
    for (const { pid } of held) {
      await turns.next();
      // The end of its parent, earlier in this unit, may have ended it.
      const row = await this.processes.find(tx, pid);
      if (row?.node !== node) continue;
      released.push({ pid, result: await this.release(tx, act, row, reason) });
    }
    return released;
  }

  /** Releases one process that a node holds, by the first case that matches. */
  async release(tx: WriteTx, act: Act, row: ProcessRow, reason: ReleaseReason): Promise<ReleaseResult> {
    if (row.kind === 'command') return 'unchanged';
    if (row.status === 'stopping') return this.endStop(tx, act, row);
    if (endsWithNode(row)) return this.abandon(tx, act, row, reason);
    if (row.status === 'paused') {
      await this.requeue(tx, act, row, reason);
      return 'paused';
    }
    if (row.kind === 'external' || (row.status !== 'running' && row.status !== 'waiting')) return 'unchanged';
    await this.requeue(tx, act, row, reason);
    return 'rerun';
  }

  /** Without a run there is nothing to wait for in the rest of the grace. */
  private async endStop(tx: WriteTx, act: Act, row: ProcessRow): Promise<ReleaseResult> {
    await this.processEnds.endStopping(tx, act, row, 'process.ownerLost');
    return 'stopped';
  }

  private async abandon(tx: WriteTx, act: Act, row: ProcessRow, reason: ReleaseReason): Promise<ReleaseResult> {
    const evidence = { kind: ownerLost, node: row.node, reason };
    const outcome: Outcome = { kind: 'abandoned', reason: ownerLost, evidence };
    await this.processEnds.end(tx, act, { row, ended: nextState(row, 'abandon'), outcome, action: 'process.abandon' });
    return 'abandoned';
  }

  /** The next run waits again for what this one waited for. Until then the only timer of the process is its deadline. */
  private async requeue(tx: WriteTx, act: Act, row: ProcessRow, reason: ReleaseReason): Promise<void> {
    const recoveries = recoveriesAfter(row, reason);
    const next = { ...nextState(row, 'release'), recoveries, alarmAt: row.deadlineAt, updatedAt: act.at };
    await saveProcess(this.processes, tx, next);
    const node = row.node ?? '';
    this.recorder.record(tx, act, next, {
      event: 'process.released',
      data: { reason, node },
      action: 'process.release',
      before: row.status,
      after: next.status,
      facts: { reason, node, fence: next.fence },
    });
  }
}

/** Whether its node goes, and the process with it: it was being stopped, or must never run again. */
function endsWithNode({ kind, status, recovery, startedAt }: ProcessRow): boolean {
  return kind !== 'command' && (status === 'stopping' || (recovery === 'fail' && startedAt !== null));
}

/** A start counts as lost when its node went while the process was running. A shutdown ends the count. */
function recoveriesAfter({ status, recoveries }: ProcessRow, reason: ReleaseReason): number {
  if (reason === 'shutdown') return 0;
  const isLost = status === 'running' && (reason === 'dead' || reason === 'lapsed');
  return isLost ? recoveries + 1 : recoveries;
}

/** The reason of abandoned processes, and the kind of their evidence. */
export const ownerLost = 'owner_lost';
