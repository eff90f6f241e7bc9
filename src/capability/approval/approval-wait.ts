import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { ApprovalId } from '../../base/ids.js';
import { keepAlive } from '../../base/keep-alive.js';
import { Store } from '../../base/store.js';
import type { ApprovalRecord, ApprovalRequest, Dependencies } from './approval.js';
import { askGivenUp } from './approval-errors.js';
import { ApprovalRepository } from './approval-repository.js';
import { ApprovalWatch } from './approval-watch.js';

/** How often a parked call looks at the time: the clock may be a caller's own, so it cannot be slept through. */
const lookMs = 50;

/** Where the calls of processes wait for the answers of people. */
@injectable()
export class ApprovalWait {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(ApprovalWatch) private readonly answers: ApprovalWatch,
  ) {}

  /** Resolves when the answer is there, or anything that it rests on may have changed. Throws CANCELLED for `signal`. */
  async until(record: ApprovalRecord, ask: ApprovalRequest, signal?: AbortSignal): Promise<ApprovalRecord | undefined> {
    const { id, chain, lineage } = record;
    const { pid, dependsOn: rests } = ask;
    using _alive = keepAlive();
    const { promise: woken, resolve: wake } = withResolvers();
    const processes = new Set([pid, ...lineage, ...rests.on]);
    using _watch = this.answers.watch({ approval: id, chain, processes, wake });
    using _timer = this.expiry(rests, wake);
    using _given = aborting(signal, wake);
    // An answer that came before the watch began rings no more.
    if ((await this.find(id))?.decision === null && signal?.aborted !== true) await woken;
    const answered = await this.find(id);
    if (signal?.aborted === true && answered?.decision === null) throw askGivenUp(id, ask);
    return answered;
  }

  private find(id: ApprovalId): Promise<ApprovalRecord | undefined> {
    return this.store.read((tx) => this.approvals.find(tx, id));
  }

  private expiry({ until }: Dependencies, wake: () => void): Disposable {
    if (until === null) return { [Symbol.dispose]: () => undefined };
    const timer = setInterval(() => (this.clock.peek() < until ? undefined : wake()), lookMs);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }
}

function aborting(signal: AbortSignal | undefined, wake: () => void): Disposable {
  signal?.addEventListener('abort', wake);
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', wake) };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
