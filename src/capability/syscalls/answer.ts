import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Commitments } from '../../base/commitments.js';
import { invalidInput } from '../../base/errors.js';
import { isLongerThan, type JsonObject, type JsonValue } from '../../base/json.js';
import { redactFacts } from '../../base/secret-patterns.js';
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
  isShownInFull,
  isValid,
  scopesOf,
} from '../approval/approval.js';
import { noSuchApproval, notPending } from '../approval/approval-errors.js';
import { ApprovalRepository } from '../approval/approval-repository.js';
import { ApprovalValidity } from '../approval/approval-validity.js';
import { WakePort } from '../approval/wake-port.js';
import { hashOfArgs } from '../decision/decide.js';
import { type CapabilityRecord, limitFacts } from '../holding/capability-record.js';
import { parseCapabilitySpec } from '../holding/capability-spec.js';
import { assertNotExpired } from '../holding/expiry.js';
import { Grants } from '../holding/grants.js';
import { maskOfRights, rightsOfMask } from '../resource/rights.js';
import { RuleWriter } from '../rule/rule-writer.js';

const answerSpec = z.strictObject({
  decision: z.enum(approvalDecisions),
  by: label,
  scope: z.enum(approvalScopes).optional(),
  args: z.custom<JsonValue>().optional(),
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
    @inject(Commitments) private readonly commitments: Commitments,
  ) {}

  /** Throws NO_SUCH_APPROVAL, CONFLICT for one that was answered or is void, INVALID_INPUT. */
  async run(approval: unknown, input: unknown): Promise<void> {
    const id = parseId(approval, 'approval');
    const { decision, by, scope: stated, args } = parseSpec(answerSpec, input, 'answer');
    const call: Call = { caller: hostCaller, actor: 'host', action: 'approval.answer' };
    await this.units.commit(call, async (tx, act) => {
      const record = await this.findPending(tx, act, id);
      const edit = editOf(record, decision, args);
      const scope = scopeOf(record, decision, stated);
      const granted = await this.carryOut(tx, act, record, decision, scope);
      await this.approvals.answer(tx, id, {
        decision,
        scope,
        answeredBy: by,
        answeredAt: act.at,
        granted: granted?.id ?? null,
        editedArgs: edit?.args ?? null,
        editedHash: edit?.argsHash ?? null,
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
        facts: {
          ...data,
          ...(granted === null ? {} : { rights: [...rightsOfMask(granted.rights)], ...limitFacts(granted) }),
          ...(edit === undefined ? {} : { edited: true, ...hashesOf(record, edit, this.commitments) }),
        },
        payload: { by, ...(edit === undefined ? {} : recordedArgs(record, edit)) },
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
    const stated = { resource, rights, argsHash, reason: `approval ${id}`, expiresAt: null, expiresInMs: null };
    await this.ruleWriter.set(tx, 'deny', { pid, n }, stated, act.at);
  }
}

/** Arguments that a person has put in the place of those of the call. */
interface Edit {
  readonly args: JsonValue;
  readonly argsHash: string;
}

/** Undefined for the arguments that were asked about. Throws INVALID_INPUT where the answer cannot carry arguments. */
function editOf(record: ApprovalRecord, decision: ApprovalDecision, args: JsonValue | undefined): Edit | undefined {
  if (args === undefined) return undefined;
  if (decision !== 'once') throw invalidInput('answer.args', `do not go with ${decision}`, onceOnly);
  if (!record.isEditable) throw invalidInput('answer.args', 'cannot be put into this call', editableOnly);
  const argsHash = hashOfArgs(args);
  return argsHash === record.argsHash ? undefined : { args, argsHash };
}

const onceOnly = 'Only an answer for this one call has arguments: give the decision once.';
const editableOnly =
  'Only calls of tools and commands that the kernel runs take other arguments: see approval.editable.';

/**
 * Whether the arguments of the person may be on record. What the tool or the command would not show of them is not known here:
 * they are left out where it would not show all of the original, and where they look as if they held a secret. The record of
 * the call itself has what may be shown.
 */
function isRecorded(record: ApprovalRecord, { args }: Edit): boolean {
  if (record.resource.startsWith('command:') || !isShownInFull(record)) return false;
  return hashOfArgs(redactFacts({ args })) === hashOfArgs({ args });
}

function hashesOf(record: ApprovalRecord, edit: Edit, commitments: Commitments): JsonObject {
  return {
    editedHash: commitments.hashOnRecord(edit.argsHash, isRecorded(record, edit)),
    originalHash: commitments.hashOnRecord(record.argsHash, isShownInFull(record)),
  };
}

/** Of longer arguments only the hash is recorded. */
const recordedArgsMax = 4_096;

function recordedArgs(record: ApprovalRecord, edit: Edit): { args?: JsonValue } {
  return !isRecorded(record, edit) || isLongerThan(edit.args, recordedArgsMax) ? {} : { args: edit.args };
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
