import { inject, injectable } from 'inversify';
import { ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { WaitReason } from '../../unit/caller.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';

/**
 * Who can go on only when another one does. Whoever has a deadline goes on without; whoever waits for one of several may
 * be woken by another of them.
 */
@injectable()
export class WaitGraph {
  constructor(@inject(ProcessRepository) private readonly processes: ProcessRepository) {}

  /** In the unit in which `pid` blocks. Throws WAIT_CYCLE if it and those it waits for would wait for each other. */
  async assertNoCycle(tx: ReadTx, pid: Pid, blockage: WaitReason): Promise<void> {
    const path = new Set([pid]);
    for (let at = awaitedPidOf(blockage); at !== undefined; ) {
      if (at === pid) throw waitCycle(pid, [...path]);
      // A circle that was there before and that this one does not belong to.
      if (path.has(at)) return;
      path.add(at);
      at = edgeOf(await this.processes.find(tx, at));
    }
  }
}

/** The process that a row waits for, and for nothing else. */
function edgeOf(row: ProcessRow | undefined): Pid | undefined {
  const isWaiting = row?.status === 'waiting' || (row?.status === 'paused' && row.previous === 'waiting');
  return isWaiting && row.wait !== null ? awaitedPidOf(row.wait) : undefined;
}

const edge = /^(?:child|message):(?!\*$)(.+)$/s;

function awaitedPidOf({ on = [], deadline }: Partial<Pick<WaitReason, 'on' | 'deadline'>>): Pid | undefined {
  const [what = '', ...others] = on;
  return deadline === undefined && others.length === 0 ? edge.exec(what)?.[1] : undefined;
}

function waitCycle(pid: Pid, cycle: readonly Pid[]): ProcessError {
  const circle = [...cycle, pid].slice(0, 20).join(' for ');
  return new ProcessError('WAIT_CYCLE', `Nobody would go on: ${circle}.`, {
    facts: { pid, cycle: [...cycle] },
    hint: 'Give the wait a timeoutMs, or have one of them send first.',
  });
}
