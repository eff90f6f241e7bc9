import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { invalidInput } from '../../base/errors.js';
import { label, parseId, parseSpec } from '../../base/spec.js';
import type { WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import {
  type ApprovalDecision,
  type ApprovalRecord,
  type ApprovalScope,
  approvalDecisions,
  approvalScopes,
  isValid,
  scopesOf,
} from '../approval/approval.js';
import { noSuchApproval, notPending } from '../approval/approval-errors.js';
import { ApprovalRepository } from '../approval/approval-repository.js';
import { ApprovalValidity } from '../approval/approval-validity.js';
import { WakePort } from '../approval/wake-port.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { parseCapabilitySpec } from '../holding/capability-spec.js';
import { assertNotExpired } from '../holding/expiry.js';
import { limitFacts } from '../holding/grant-facts.js';
import { Grants } from '../holding/grants.js';
import { maskOfRights, rightsOfMask } from '../resource/rights.js';
import { RuleWriter } from '../rule/rule-writer.js';

const answerSpec = z.strictObject({
  decision: z.enum(approvalDecisions),
  by: label,
  scope: z.enum(approvalScopes).optional(),
});

/** Stores the answer of a person to a question that a rule asks, or to a request for a capability. */
@injectable()
export class Answer {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(ApprovalValidity) private readonly approvalValidity: ApprovalValidity,
    @inject(Grants) private readonly grants: Grants,
    @inject(RuleWriter) private readonly ruleWriter: RuleWriter,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(WakePort) private readonly wakePort: WakePort,
  ) {}

  /** Throws NO_SUCH_APPROVAL, CONFLICT for one that was answered or is void, INVALID_INPUT. */
  async run(approval: unknown, input: unknown): Promise<void> {
    const id = parseId(approval, 'approval');
    const { decision, by, scope: stated } = parseSpec(answerSpec, input, 'answer');
    const call: Call = { caller: hostCaller, actor: 'host', action: 'approval.answer' };
    await this.units.commit(call, async (tx, act) => {
      const record = await this.findPending(tx, act, id);
      const scope = scopeOf(record, decision, stated);
      const granted = await this.carryOut(tx, act, record, decision, scope);
      await this.approvals.answer(tx, id, {
        decision,
        scope,
        answeredBy: by,
        answeredAt: act.at,
        granted: granted?.id ?? null,
      });
      const { pid, right, resource, capability } = record;
      const data = { approval: id, decision, ...(scope === null ? {} : { scope }) };
      this.recorder.recordEvent(tx, { type: 'approval.answered', at: act.at, pid, data });
      this.recorder.recordAudit(tx, {
        ...act,
        action: call.action,
        outcome: 'ok',
        target: pid,
        right,
        decision: decision.startsWith('deny') ? 'deny' : 'allow',
        capability: granted?.id ?? capability ?? undefined,
        approval: id,
        resource,
        facts: granted === null ? data : { ...data, rights: [...rightsOfMask(granted.rights)], ...limitFacts(granted) },
        payload: { by },
        subject: pid,
      });
      await this.wakePort.wake(tx, act, pid, `approval:${id}`);
    });
  }

  private async findPending(tx: WriteTx, { at }: Act, id: string): Promise<ApprovalRecord> {
    const record = await this.approvals.find(tx, id);
    if (record === undefined) throw noSuchApproval(id);
    if (record.decision !== null) throw notPending(id, 'answered');
    if (!isValid(record, await this.approvalValidity.factsOf(tx, record, at))) throw notPending(id, 'void');
    return record;
  }

  /** An approved request grants the capability, which is returned; `deny-always` sets a rule. */
  private async carryOut(
    tx: WriteTx,
    act: Act,
    record: ApprovalRecord,
    decision: ApprovalDecision,
    scope: ApprovalScope | null,
  ): Promise<CapabilityRecord | null> {
    if (decision === 'deny-always') await this.forbid(tx, act, record, scope);
    if (record.spec === null || decision.startsWith('deny')) return null;
    const { id, pid, generation } = record;
    const authority = parseCapabilitySpec(record.spec);
    assertNotExpired(authority, act.at, 'approval.spec');
    const root = this.grants.createRoot({ pid, generation, at: act.at }, authority, `approval:${id}`);
    await this.grants.insert(tx, [root]);
    this.recorder.recordEvent(tx, { type: 'capability.granted', at: act.at, pid, data: { capability: root.id } });
    return root;
  }

  /** The rule binds everything spawned under the process too, whatever the scope, so that no child can do it instead. */
  private async forbid(tx: WriteTx, act: Act, record: ApprovalRecord, scope: ApprovalScope | null): Promise<void> {
    const { id, pid, n, right, resource, spec } = record;
    const argsHash = scope === 'args' ? record.argsHash : null;
    const rights = maskOfRights(spec?.rights ?? [right]);
    const stated = { resource, rights, argsHash, reason: `approval ${id}`, expiresAt: null };
    await this.ruleWriter.set(tx, 'deny', { pid, n }, stated, act.at);
  }
}

/** Throws INVALID_INPUT for a scope that the kernel has not offered, and for one that a single answer cannot have. */
function scopeOf(
  record: ApprovalRecord,
  decision: ApprovalDecision,
  stated: ApprovalScope | undefined,
): ApprovalScope | null {
  const offered = scopesOf(record);
  const isLasting = decision === 'always' || decision === 'deny-always';
  if (stated !== undefined && (!offered.includes(stated) || (!isLasting && stated !== 'args'))) {
    const hint = isLasting
      ? `It can be: ${offered.join(', ') || 'left out'}.`
      : 'Only always and deny-always have one.';
    throw invalidInput('answer.scope', `${stated} is not a scope of this answer`, hint);
  }
  return isLasting ? (stated ?? offered[0] ?? null) : null;
}
