import { inject, injectable } from 'inversify';
import { decodeRecord } from '../../audit/audit-record.js';
import { AuditRepository } from '../../audit/audit-repository.js';
import type { ApprovalId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { CapabilityRepository } from '../holding/capability-repository.js';
import { type ApprovalRecord, type ApprovalRequest, isSameCall, isValid, waives } from './approval.js';
import { ApprovalNeeded } from './approval-errors.js';
import { ApprovalRepository } from './approval-repository.js';

const answersMax = 10_000;

/** Finds the answer of a person that waives a rule which asks. */
@injectable()
export class ApprovalLookup {
  /** The records of answers, by approval: an answer `always` is used often. */
  private readonly answers = new Map<ApprovalId, string>();

  constructor(
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(AuditRepository) private readonly audit: AuditRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** In the unit of the effect: an answer `once` is used up. Throws ApprovalNeeded. */
  async authorize(tx: WriteTx, request: ApprovalRequest, at: number): Promise<ApprovalId> {
    const approval = await this.require(tx, request, at);
    if (approval.decision === 'once') await this.use(tx, approval.id, request.pid, at);
    const answer = await this.findAnswer(tx, approval);
    if (answer !== undefined) this.recorder.nameAnswer(tx, approval.id, answer);
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

  /** The id of the record of the answer. */
  private async findAnswer(tx: ReadTx, { id, pid }: ApprovalRecord): Promise<string | undefined> {
    const known = this.answers.get(id);
    if (known !== undefined) return known;
    const records = (await this.audit.recordsAbout(tx, pid)).map((stored) => decodeRecord(stored, undefined));
    const answer = records.find(({ action, approval }) => action === 'approval.answer' && approval === id)?.id;
    if (this.answers.size >= answersMax) this.answers.clear();
    if (answer !== undefined) this.answers.set(id, answer);
    return answer;
  }

  /** Whether the process that the answer was for still runs the same program. The caller has checked the capability. */
  private async stillHolds(tx: ReadTx, record: ApprovalRecord, now: number): Promise<boolean> {
    const holder = await this.capabilities.findHolder(tx, record.pid);
    return isValid(record, { holder, capability: 'live', isWaived: false, now });
  }
}
