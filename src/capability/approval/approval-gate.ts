import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { KernelError } from '../../base/errors.js';
import { IdSource, type Pid } from '../../base/ids.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { type Call, type Caller, waitAs } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { Interruption, InterruptionHandler } from '../../unit/interruption.js';
import { CapabilityRepository } from '../holding/capability-repository.js';
import {
  type ApprovalRecord,
  type ApprovalRequest,
  isOverdue,
  isSameCall,
  isShownInFull,
  isValid,
} from './approval.js';
import {
  AnswerEdited,
  ApprovalNeeded,
  approvalDenied,
  approvalPending,
  askerStopping,
  tooManyApprovals,
} from './approval-errors.js';
import { ApprovalLookup } from './approval-lookup.js';
import { ApprovalRepository } from './approval-repository.js';
import { ApprovalValidity } from './approval-validity.js';
import { ApprovalWait } from './approval-wait.js';

/** The most questions of one process that wait for an answer at the same time. */
const pendingMax = 16;

/** Puts calls that a person has to approve into the queue, and resumes them when they are answered. */
@injectable()
export class ApprovalGate implements InterruptionHandler {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(ApprovalValidity) private readonly approvalValidity: ApprovalValidity,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ApprovalLookup) private readonly approvalLookup: ApprovalLookup,
    @inject(ApprovalWait) private readonly approvalWait: ApprovalWait,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  hasOwnRecord({ code }: KernelError): boolean {
    return code === 'APPROVAL_PENDING' || code === 'APPROVAL_DENIED';
  }

  /**
   * Puts the question into the queue, once for identical calls. A call of the host fails with APPROVAL_PENDING; a call of
   * a process waits until it is worth running again, which then checks everything anew. Throws APPROVAL_PENDING,
   * APPROVAL_DENIED, TOO_MANY_APPROVALS, CANCELLED.
   */
  async resolve(call: Call, act: Act, interruption: Interruption): Promise<void> {
    if (!(interruption instanceof ApprovalNeeded)) throw interruption;
    const { request } = interruption;
    const { caller, action } = call;
    const record = await this.store.write((tx) => this.findOrAsk(tx, caller, act, request));
    const given =
      record.decision !== null || caller.face === 'host' ? record : await this.waitForAnswer(call, record, request);
    const answered = given === undefined ? undefined : await this.denyOverdue(given);
    if (answered?.decision === 'once' && answered.editedHash !== null) throw new AnswerEdited(answered);
    if (answered?.decision?.startsWith('deny') === true) {
      await this.recordDenial(answered, act, action);
      throw approvalDenied(answered.id, request);
    }
    if (caller.face === 'host') throw approvalPending(record.id, request);
  }

  private waitForAnswer(
    { caller, signal }: Call,
    record: ApprovalRecord,
    request: ApprovalRequest,
  ): Promise<ApprovalRecord | undefined> {
    const blockage = { kind: 'approval', what: record.id, on: [`approval:${record.id}`] } as const;
    return waitAs(caller, blockage, () => this.approvalWait.waitForAnswer(record, request, signal));
  }

  /** The open question about this very call, or a new one. A denial that was not reported yet counts as the answer. */
  private async findOrAsk(tx: WriteTx, caller: Caller, act: Act, request: ApprovalRequest): Promise<ApprovalRecord> {
    if (caller.face === 'process') await this.assertNotStopping(tx, request.pid);
    const own = await this.approvals.findOpen(tx, [request.holder.n]);
    const same = own.filter((record) => isSameCall(record, request));
    const known =
      same.find(({ decision }) => decision === 'deny') ??
      same.find(({ decision, editedHash }) => decision === 'once' && editedHash !== null) ??
      same.find(({ decision }) => decision === null);
    if (known !== undefined) return known;
    await this.assertRoom(tx, act, request, own);
    return this.insertQuestion(tx, act, request);
  }

  /** Void questions do not count. Throws TOO_MANY_APPROVALS. */
  private async assertRoom(
    tx: ReadTx,
    { at }: Act,
    request: ApprovalRequest,
    own: readonly ApprovalRecord[],
  ): Promise<void> {
    let waiting = 0;
    for (const record of own) {
      if (record.decision === null && isValid(record, await this.approvalValidity.factsOf(tx, record, at))) waiting++;
    }
    if (waiting >= pendingMax) throw tooManyApprovals(request, pendingMax);
  }

  private async insertQuestion(tx: WriteTx, act: Act, request: ApprovalRequest): Promise<ApprovalRecord> {
    const { holder, dependsOn: _dependsOn, expiresInMs, edit: _edit, ...stored } = request;
    const record: ApprovalRecord = {
      ...stored,
      id: this.ids.next('approval'),
      n: holder.n,
      generation: holder.generation,
      lineage: await this.lineageOf(tx, request.pid),
      createdAt: act.at,
      ...unanswered,
      deniedAt: expiresInMs === null ? null : act.at + expiresInMs,
    };
    await this.approvals.insert(tx, record);
    const { id: approval, pid, right, resource } = record;
    const kind = resource.slice(0, resource.indexOf(':'));
    this.recorder.recordEvent(tx, { type: 'approval.requested', at: act.at, pid, data: { approval, right, kind } });
    this.recorder.recordAudit(tx, {
      ...act,
      actor: pid,
      action: 'approval.request',
      outcome: 'ok',
      target: pid,
      generation: record.generation,
      right,
      decision: 'ask',
      code: 'ASK',
      capability: record.capability ?? undefined,
      approval,
      resource,
      facts: { rules: [...record.rules], ...publicHashOf(record) },
      subject: pid,
    });
    return record;
  }

  private async lineageOf(tx: ReadTx, pid: Pid): Promise<Pid[]> {
    const lineage: Pid[] = [];
    for (let holder = await this.capabilities.findHolder(tx, pid); holder !== undefined && holder.parent !== null; ) {
      lineage.push(holder.parent);
      holder = await this.capabilities.findHolder(tx, holder.parent);
    }
    return lineage;
  }

  /** The answer, which is a denial of the kernel where nobody has answered in time. */
  private denyOverdue(given: ApprovalRecord): Promise<ApprovalRecord> | ApprovalRecord {
    if (!isOverdue(given, this.clock.peek())) return given;
    const { id, pid, right, resource } = given;
    return this.store.write(async (tx) => {
      const record = (await this.approvals.find(tx, id)) ?? given;
      const at = this.clock.now();
      if (!isOverdue(record, at)) return record;
      const answer = { decision: 'deny', scope: null, answeredBy: 'kernel', answeredAt: at, granted: null } as const;
      await this.approvals.answer(tx, id, { ...answer, editedArgs: null, editedHash: null });
      const data = { approval: id, decision: answer.decision };
      this.recorder.recordEvent(tx, { type: 'approval.answered', at, pid, data });
      this.recorder.recordAudit(tx, {
        actor: 'kernel',
        via: 'kernel',
        at,
        action: 'approval.answer',
        outcome: 'ok',
        target: pid,
        right,
        decision: 'deny',
        code: 'EXPIRED',
        approval: id,
        resource,
        facts: { ...data, deniedAt: record.deniedAt },
        subject: pid,
      });
      return { ...record, ...answer };
    });
  }

  /** Records a denial and uses it up: it is reported once, and the same call later asks again. */
  private async recordDenial(record: ApprovalRecord, act: Act, action: AuditAction): Promise<void> {
    const { id: approval, pid, right, resource } = record;
    await this.store.write(async (tx) => {
      if ((await this.approvals.find(tx, approval))?.spentAt !== null) return;
      const at = this.clock.now();
      await this.approvalLookup.use(tx, approval, pid, at);
      const refused = { outcome: 'refused', decision: 'deny', code: 'APPROVAL_DENIED' } as const;
      this.recorder.recordAudit(tx, { ...act, at, action, ...refused, target: pid, right, approval, resource });
    });
  }

  private async assertNotStopping(tx: ReadTx, pid: Pid): Promise<void> {
    if ((await this.capabilities.findHolder(tx, pid))?.stopping === true) throw askerStopping(pid);
  }
}

/**
 * The hash of the arguments, for the record. Not where they are shown without their secrets: who has the record could guess
 * those and check the guess.
 */
function publicHashOf(record: ApprovalRecord): { argsHash?: string } {
  return isShownInFull(record) ? { argsHash: record.argsHash } : {};
}

const unanswered = {
  decision: null,
  scope: null,
  answeredBy: null,
  answeredAt: null,
  granted: null,
  spentAt: null,
  editedArgs: null,
  editedHash: null,
} as const;
