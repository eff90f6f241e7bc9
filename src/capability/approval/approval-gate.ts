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
import { type ApprovalRecord, type ApprovalRequest, isSameCall, isValid } from './approval.js';
import { ApprovalNeeded, approvalDenied, approvalPending, askerStopped, tooManyAsked } from './approval-errors.js';
import { ApprovalLookup } from './approval-lookup.js';
import { ApprovalRepository } from './approval-repository.js';
import { ApprovalValidity } from './approval-validity.js';
import { ApprovalWait } from './approval-wait.js';

/** Questions of one process that wait for an answer at the same time. */
const pendingMax = 16;

/** Puts calls that a person has to approve to the queue, and lets them go on when they are answered. */
@injectable()
export class ApprovalGate implements InterruptionHandler {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(ApprovalValidity) private readonly footings: ApprovalValidity,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ApprovalLookup) private readonly clearance: ApprovalLookup,
    @inject(ApprovalWait) private readonly parking: ApprovalWait,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  records({ code }: KernelError): boolean {
    return code === 'APPROVAL_PENDING' || code === 'APPROVAL_DENIED';
  }

  /**
   * Puts the question to the queue, once for identical calls. The host is told to come back; a process's call is parked
   * and resolves when it is worth trying again, which then checks everything anew. Throws APPROVAL_PENDING,
   * APPROVAL_DENIED, TOO_MANY_APPROVALS, CANCELLED.
   */
  async resolve(call: Call, act: Act, interruption: Interruption): Promise<void> {
    if (!(interruption instanceof ApprovalNeeded)) throw interruption;
    const { ask } = interruption;
    const { caller, action } = call;
    const record = await this.store.write((tx) => this.question(tx, caller, act, ask));
    const answered = record.decision !== null || caller.face === 'host' ? record : await this.parked(call, record, ask);
    if (answered?.decision?.startsWith('deny') === true) {
      await this.tell(answered, act, action);
      throw approvalDenied(answered.id, ask);
    }
    if (caller.face === 'host') throw approvalPending(record.id, ask);
  }

  private parked(
    { caller, signal }: Call,
    record: ApprovalRecord,
    ask: ApprovalRequest,
  ): Promise<ApprovalRecord | undefined> {
    const blockage = { kind: 'approval', what: record.id, on: [`approval:${record.id}`] } as const;
    return waitAs(caller, blockage, () => this.parking.until(record, ask, signal));
  }

  /** The open question about this very call, or a new one; one that was refused and not told yet is the answer. */
  private async question(tx: WriteTx, caller: Caller, act: Act, ask: ApprovalRequest): Promise<ApprovalRecord> {
    if (caller.face === 'process') await this.assertGoingOn(tx, ask.pid);
    const own = await this.approvals.open(tx, [ask.holder.n]);
    const same = own.filter((record) => isSameCall(record, ask));
    const known = same.find(({ decision }) => decision === 'deny') ?? same.find(({ decision }) => decision === null);
    if (known !== undefined) return known;
    await this.assertRoom(tx, act, ask, own);
    return this.asked(tx, act, ask);
  }

  /** What is void waits for nobody. */
  private async assertRoom(
    tx: ReadTx,
    { at }: Act,
    ask: ApprovalRequest,
    own: readonly ApprovalRecord[],
  ): Promise<void> {
    let waiting = 0;
    for (const record of own) {
      if (record.decision === null && isValid(record, await this.footings.of(tx, record, at))) waiting++;
    }
    if (waiting >= pendingMax) throw tooManyAsked(ask, pendingMax);
  }

  private async asked(tx: WriteTx, act: Act, ask: ApprovalRequest): Promise<ApprovalRecord> {
    const { holder, dependsOn: _rests, ...bound } = ask;
    const record: ApprovalRecord = {
      ...bound,
      id: this.ids.next('approval'),
      n: holder.n,
      generation: holder.generation,
      lineage: await this.lineage(tx, ask.pid),
      createdAt: act.at,
      ...unanswered,
    };
    await this.approvals.insert(tx, record);
    const { id: approval, pid, right, resource } = record;
    const kind = resource.slice(0, resource.indexOf(':'));
    this.recorder.event(tx, { type: 'approval.requested', at: act.at, pid, data: { approval, right, kind } });
    this.recorder.audit(tx, {
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
      facts: { rules: [...record.rules], argsHash: record.argsHash },
      subject: pid,
    });
    return record;
  }

  private async lineage(tx: ReadTx, pid: Pid): Promise<Pid[]> {
    const lineage: Pid[] = [];
    for (let at = await this.capabilities.holder(tx, pid); at !== undefined && at.parent !== null; ) {
      lineage.push(at.parent);
      at = await this.capabilities.holder(tx, at.parent);
    }
    return lineage;
  }

  /** A refusal is told once, and on record: the same call later asks again. */
  private async tell(record: ApprovalRecord, act: Act, action: AuditAction): Promise<void> {
    const { id: approval, pid, right, resource } = record;
    await this.store.write(async (tx) => {
      if ((await this.approvals.find(tx, approval))?.spentAt !== null) return;
      const at = this.clock.now();
      await this.clearance.use(tx, approval, pid, at);
      const refused = { outcome: 'refused', decision: 'deny', code: 'APPROVAL_DENIED' } as const;
      this.recorder.audit(tx, { ...act, at, action, ...refused, target: pid, right, approval, resource });
    });
  }

  private async assertGoingOn(tx: ReadTx, pid: Pid): Promise<void> {
    if ((await this.capabilities.holder(tx, pid))?.stopping === true) throw askerStopped(pid);
  }
}

const unanswered = {
  decision: null,
  scope: null,
  answeredBy: null,
  answeredAt: null,
  granted: null,
  spentAt: null,
} as const;
