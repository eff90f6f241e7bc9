import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { KernelError, StoreError } from '../../base/errors.js';
import type { ApprovalId, Pid } from '../../base/ids.js';
import { Store } from '../../base/store.js';
import { ApprovalLookup } from './approval-lookup.js';

/** Uses up answers with edited arguments whose call was refused: the same call later asks again. */
@injectable()
export class EditedAnswers {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ApprovalLookup) private readonly approvals: ApprovalLookup,
  ) {}

  /** Does nothing for an error after which the call may be made again with the same answer. */
  async settleRefusal(pid: Pid, answers: readonly ApprovalId[] | undefined, error: unknown): Promise<void> {
    if (answers === undefined || !isRefusalOfCall(error)) return;
    await this.store.write((tx) => this.approvals.useAll(tx, answers, pid, this.clock.now()));
  }
}

/** The codes of errors that say nothing about the call itself. */
const otherCodes: ReadonlySet<string> = new Set([
  'CANCELLED',
  'KERNEL_CLOSED',
  'LEASE_LOST',
  'PROCESS_TERMINATED',
  'RUN_ENDED',
  'SHUTDOWN',
  'TOOL_TIMEOUT',
  'WAIT_TIMEOUT',
]);

function isRefusalOfCall(error: unknown): boolean {
  return error instanceof KernelError && !(error instanceof StoreError) && !otherCodes.has(error.code);
}
