import { inject, injectable } from 'inversify';
import { decodeRecord } from '../../audit/audit-record.js';
import { AuditRepository } from '../../audit/audit-repository.js';
import type { ApprovalId, Pid, RuleId } from '../../base/ids.js';
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
    if (approval.decision === 'once' && approval.spentAt === null) await this.use(tx, approval.id, request.pid, at);
    const answer = await this.findAnswer(tx, approval);
    if (answer !== undefined) this.recorder.nameAnswer(tx, approval.id, answer);
    return approval.id;
  }

  /** Marks an answer as used up, or a denial as reported to `pid`. The audit record is the caller's to write. */
  async use(tx: WriteTx, approval: ApprovalId, pid: Pid, at: number): Promise<void> {
    await this.approvals.use(tx, approval, at);
    this.recorder.recordEvent(tx, { type: 'approval.used', at, pid, data: { approval } });
  }

  /** Uses up those that are not used up yet. */
  async useAll(tx: WriteTx, approvals: readonly ApprovalId[], pid: Pid, at: number): Promise<void> {
    for (const id of approvals)
      if ((await this.approvals.find(tx, id))?.spentAt === null) await this.use(tx, id, pid, at);
  }

  /** Before the unit of the effect: nothing is used up. Throws ApprovalNeeded. */
  async require(tx: ReadTx, request: ApprovalRequest, now: number): Promise<ApprovalRecord> {
    const edit = await this.findEdit(tx, request, now);
    const left = edit === undefined ? request : withoutRules(request, edit.rules);
    // What is left is asked by rules that the answer was not about.
    if (edit !== undefined && left.rules.length === 0) return edit;
    const approval = await this.find(tx, left, now);
    if (approval === undefined) throw new ApprovalNeeded(left);
    return approval;
  }

  /** An answer `always` goes before one that would be used up. */
  async find(tx: ReadTx, request: ApprovalRequest, now: number): Promise<ApprovalRecord | undefined> {
    let once: ApprovalRecord | undefined;
    for (const record of await this.approvals.findOpen(tx, [request.holder.n, ...request.holder.path])) {
      if (record.decision === 'always' && waives(record, request) && (await this.stillHolds(tx, record, now)))
        return record;
      // An answer with other arguments lets nothing through but those.
      if (record.decision === 'once' && record.editedHash === null && isSameCall(record, request)) once ??= record;
    }
    return once;
  }

  /** The answer with the arguments of this call, if it is still good for it. */
  private async findEdit(tx: ReadTx, request: ApprovalRequest, now: number): Promise<ApprovalRecord | undefined> {
    const { edit } = request;
    const record = edit === undefined ? undefined : await this.approvals.find(tx, edit.approval);
    if (record === undefined || record.editedHash === null) return undefined;
    if (record.spentAt !== null && edit?.isContinued !== true) return undefined;
    const isOfCall = record.pid === request.pid && record.right === request.right;
    return isOfCall && (await this.stillHolds(tx, record, now)) ? record : undefined;
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

function withoutRules(request: ApprovalRequest, waived: readonly RuleId[]): ApprovalRequest {
  return { ...request, rules: request.rules.filter((rule) => !waived.includes(rule)) };
}
