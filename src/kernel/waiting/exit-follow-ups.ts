import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';

/** Queues the unit that is to follow the end of a process. */
type FollowUp = () => void;

/**
 * Units that follow the end of a process in the same commit, such as the answer of a wait on this node. What they do is
 * also done without them, after the commit.
 */
@injectable()
export class ExitFollowUps {
  private readonly byPid = new Map<Pid, Set<FollowUp>>();

  /** Calls `queue` in each unit that ends the process, until disposed. */
  add(pid: Pid, queue: FollowUp): Disposable {
    const followUps = this.byPid.get(pid) ?? new Set();
    this.byPid.set(pid, followUps.add(queue));
    return {
      [Symbol.dispose]: () => {
        followUps.delete(queue);
        if (followUps.size === 0) this.byPid.delete(pid);
      },
    };
  }

  /** To be called in the unit that ends the process. */
  announce(tx: WriteTx, pid: Pid): void {
    const followUps = this.byPid.get(pid);
    if (followUps === undefined) return;
    tx.afterUnit(() => {
      for (const queue of [...followUps]) queue();
    });
  }
}
