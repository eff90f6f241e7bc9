import { inject, injectable } from 'inversify';
import { Deferred } from '../../base/deferred.js';
import type { ApprovalId } from '../../base/ids.js';
import { keepAlive } from '../../base/keep-alive.js';
import { Store } from '../../base/store.js';
import { Timers } from '../../unit/timers.js';
import type { ApprovalRecord, ApprovalRequest } from './approval.js';
import { approvalWaitCancelled } from './approval-errors.js';
import { ApprovalRepository } from './approval-repository.js';
import { ApprovalWatch } from './approval-watch.js';

/** Makes calls of processes wait for the answer of a person. */
@injectable()
export class ApprovalWait {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Timers) private readonly timers: Timers,
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(ApprovalWatch) private readonly approvalWatch: ApprovalWatch,
  ) {}

  /** Resolves when there is an answer, or when anything that it depends on may have changed. Throws CANCELLED. */
  async waitForAnswer(
    record: ApprovalRecord,
    request: ApprovalRequest,
    signal?: AbortSignal,
  ): Promise<ApprovalRecord | undefined> {
    const { id, chain, lineage } = record;
    const { pid, dependsOn } = request;
    using _alive = keepAlive();
    const { promise: woken, resolve: wake } = new Deferred();
    const processes = new Set([pid, ...lineage, ...dependsOn.processes]);
    using _watch = this.approvalWatch.watch({ approval: id, chain, processes, wake });
    using _timer = this.startTimer(dependsOn.expiresAt, wake);
    using _limit = this.startTimer(record.deniedAt, wake);
    using _abort = wakeOnAbort(signal, wake);
    // An answer that was committed before the watch began does not wake it.
    if ((await this.find(id))?.decision === null && signal?.aborted !== true) await woken;
    const answered = await this.find(id);
    if (signal?.aborted === true && answered?.decision === null) throw approvalWaitCancelled(id, request);
    return answered;
  }

  private find(id: ApprovalId): Promise<ApprovalRecord | undefined> {
    return this.store.read((tx) => this.approvals.find(tx, id));
  }

  private startTimer(at: number | null, wake: () => void): Disposable | undefined {
    return at === null ? undefined : this.timers.callAt(at, wake);
  }
}

function wakeOnAbort(signal: AbortSignal | undefined, wake: () => void): Disposable {
  signal?.addEventListener('abort', wake);
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', wake) };
}
