import { inject, injectable } from 'inversify';
import type { ApprovalId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { CapabilityRepository } from '../holding/capability-repository.js';
import { type ApprovalRecord, type ApprovalRequest, isSameCall, isValid, waives } from './approval.js';
import { ApprovalNeeded } from './approval-errors.js';
import { ApprovalRepository } from './approval-repository.js';

/** Finds the answer of a person that waives a rule which asks. */
@injectable()
export class ApprovalLookup {
  constructor(
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** In the unit of the effect: an answer `once` is used up. Throws ApprovalNeeded. */
  async authorize(tx: WriteTx, request: ApprovalRequest, at: number): Promise<ApprovalId> {
    const approval = await this.require(tx, request, at);
    if (approval.decision === 'once') await this.use(tx, approval.id, request.pid, at);
    return approval.id;
  }

  /** Marks an answer as used up, or a denial as reported to `pid`. The audit record is the caller's to write. */
  async use(tx: WriteTx, approval: ApprovalId, pid: Pid, at: number): Promise<void> {
    await this.approvals.use(tx, approval, at);
    this.recorder.recordEvent(tx, { type: 'approval.used', at, pid, data: { approval } });
  }

  /** Before the unit of the effect: nothing is used up. Throws ApprovalNeeded. */
  async require(tx: ReadTx, request: ApprovalRequest, now: number): Promise<ApprovalRecord> {
    const approval = await this.find(tx, request, now);
    if (approval === undefined) throw new ApprovalNeeded(request);
    return approval;
  }

  /** An answer `always` goes before one that would be used up. */
  async find(tx: ReadTx, request: ApprovalRequest, now: number): Promise<ApprovalRecord | undefined> {
    let once: ApprovalRecord | undefined;
    for (const record of await this.approvals.findOpen(tx, [request.holder.n, ...request.holder.path])) {
      if (record.decision === 'always' && waives(record, request) && (await this.stillHolds(tx, record, now)))
        return record;
      if (record.decision === 'once' && isSameCall(record, request)) once ??= record;
    }
    return once;
  }

  /** Whether the process that the answer was for still runs the same program. The caller has checked the capability. */
  private async stillHolds(tx: ReadTx, record: ApprovalRecord, now: number): Promise<boolean> {
    const holder = await this.capabilities.findHolder(tx, record.pid);
    return isValid(record, { holder, capability: 'live', isWaived: false, now });
  }
}
