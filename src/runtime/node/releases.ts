import { inject, injectable } from 'inversify';
import type { NodeId, Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { Effects } from '../../kernel/effect/effects.js';
import { ProcessEnds } from '../../kernel/lifecycle/process-ends.js';
import type { Outcome, ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { saveProcess } from '../../kernel/process/save-process.js';
import { nextState } from '../../kernel/process/transitions.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';

/** What became of a process that its node does not hold any more. `left`: nothing, it is not the node's to give up. */
export type Released = 'rerun' | 'paused' | 'stopped' | 'abandoned' | 'left';

/** Why the node does not hold it any more. */
export type ReleaseReason = 'lapsed' | 'dead' | 'missing' | 'restarted' | 'shutdown' | 'store';

export interface ReleasedProcess {
  readonly pid: Pid;
  readonly released: Released;
}

/** Takes processes from a node. Each gets the next fence, so that whatever still runs there changes nothing more. */
@injectable()
export class Releases {
  constructor(
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Effects) private readonly effects: Effects,
    @inject(ProcessEnds) private readonly endings: ProcessEnds,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Everything that `node` holds, parents before their children, after what it was doing to the world. To be called in
   * the unit that ends the epoch of the node, or that finds it ended.
   */
  async releaseAll(tx: WriteTx, act: Act, node: NodeId, reason: ReleaseReason): Promise<ReleasedProcess[]> {
    await this.effects.lose(tx, act, node);
    const all: ReleasedProcess[] = [];
    for (const { pid } of await this.processes.heldBy(tx, node)) {
      // The end of its parent, earlier in this unit, may have changed it.
      const row = await this.processes.find(tx, pid);
      if (row?.node !== node) continue;
      all.push({ pid, released: await this.release(tx, act, row, reason) });
    }
    return all;
  }

  /** One row that a node holds. The first case that matches. */
  async release(tx: WriteTx, act: Act, row: ProcessRow, reason: ReleaseReason): Promise<Released> {
    if (row.kind === 'command') return 'left';
    if (row.status === 'stopping') return this.endStop(tx, act, row);
    if (row.recovery === 'fail' && row.startedAt !== null) return this.abandon(tx, act, row, reason);
    if (row.status === 'paused') {
      await this.requeue(tx, act, row, reason);
      return 'paused';
    }
    if (row.kind === 'external' || (row.status !== 'running' && row.status !== 'waiting')) return 'left';
    await this.requeue(tx, act, row, reason);
    return 'rerun';
  }

  /** Nobody is left to use the rest of the grace. */
  private async endStop(tx: WriteTx, act: Act, row: ProcessRow): Promise<Released> {
    await this.endings.endStopping(tx, act, row, 'process.ownerLost');
    return 'stopped';
  }

  private async abandon(tx: WriteTx, act: Act, row: ProcessRow, reason: ReleaseReason): Promise<Released> {
    const evidence = { kind: ownerLost, node: row.node, reason };
    const outcome: Outcome = { kind: 'abandoned', reason: ownerLost, evidence };
    await this.endings.end(tx, act, { row, ended: nextState(row, 'abandon'), outcome, action: 'process.abandon' });
    return 'abandoned';
  }

  /** What it waited for is waited for again by the run that follows; until then its deadline alone can wake it. */
  private async requeue(tx: WriteTx, act: Act, row: ProcessRow, reason: ReleaseReason): Promise<void> {
    const next = { ...nextState(row, 'release'), alarmAt: row.deadlineAt, updatedAt: act.at };
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

/** The reason of the abandoned, and the kind of their evidence. */
export const ownerLost = 'owner_lost';
