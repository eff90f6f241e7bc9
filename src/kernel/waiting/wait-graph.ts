import { inject, injectable } from 'inversify';
import { ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { WaitReason } from '../../unit/caller.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';

/**
 * The graph of processes that wait for exactly one other process. A wait with a deadline is no edge, because it ends by
 * itself; nor is a wait for one of several, because another of them may end it.
 */
@injectable()
export class WaitGraph {
  constructor(@inject(ProcessRepository) private readonly processes: ProcessRepository) {}

  /** To be called in the unit in which `pid` blocks. Throws WAIT_CYCLE if that would close a cycle. */
  async assertNoCycle(tx: ReadTx, pid: Pid, reason: Pick<WaitReason, 'on' | 'deadline'>): Promise<void> {
    const path = new Set([pid]);
    for (let awaited = awaitedPidOf(reason); awaited !== undefined; ) {
      if (awaited === pid) throw waitCycle(pid, [...path]);
      // A cycle that existed before and does not contain `pid`.
      if (path.has(awaited)) return;
      path.add(awaited);
      awaited = edgeOf(await this.processes.find(tx, awaited));
    }
  }
}

/** The one process that a row waits for. */
function edgeOf(row: ProcessRow | undefined): Pid | undefined {
  const isWaiting = row?.status === 'waiting' || (row?.status === 'paused' && row.previous === 'waiting');
  return isWaiting && row.wait !== null ? awaitedPidOf(row.wait) : undefined;
}

const edge = /^(?:child|message):(?!\*$)(.+)$/s;

function awaitedPidOf({ on = [], deadline }: Partial<Pick<WaitReason, 'on' | 'deadline'>>): Pid | undefined {
  const [first = '', ...rest] = on;
  return deadline === undefined && rest.length === 0 ? edge.exec(first)?.[1] : undefined;
}

function waitCycle(pid: Pid, cycle: readonly Pid[]): ProcessError {
  const waits = [...cycle, pid].slice(0, 20).join(' for ');
  return new ProcessError('WAIT_CYCLE', `Nobody would go on: ${waits}.`, {
    facts: { pid, cycle: [...cycle] },
    hint: 'Give the wait a timeoutMs, or have one of them send first.',
  });
}
