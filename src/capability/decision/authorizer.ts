import { strict as assert } from 'node:assert';
import { inject, injectable } from 'inversify';
import type { ApprovalId, CapabilityId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { ApprovalRequest } from '../approval/approval.js';
import { ApprovalLookup } from '../approval/approval-lookup.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { CapabilityRepository } from '../holding/capability-repository.js';
import { earliestExpiry, questionTimeOf, ruleIdsOf } from '../rule/rule.js';
import type { CallContext } from '../rule/rule-gate.js';
import { allows, hashOfArgs, type RawDecision } from './decide.js';
import type { Decision } from './decision.js';
import { Evaluator } from './evaluator.js';
import { capabilityDenied, toDecision, toExplanation } from './explanation.js';
import type { Question } from './question.js';

/** The authority that allows something. */
export interface Authorization {
  readonly capability: CapabilityId | 'kin';
  /** The approval that waives a rule which asks. */
  readonly approval?: ApprovalId;
  /** The number of capabilities with finite uses, in the chain, that lose one use. */
  readonly counted: number;
  /** The generation of the process that acts. */
  readonly generation: number;
  readonly decision: Decision;
}

/** Decides for effects: whether a process may do something now, and which uses and approvals that takes. */
@injectable()
export class Authorizer {
  constructor(
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(ApprovalLookup) private readonly approvalLookup: ApprovalLookup,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * In the unit of the effect: takes a use, and an approval where a rule asks. Throws CAPABILITY_REVOKED or
   * CAPABILITY_EXPIRED where that alone was missing, otherwise CAPABILITY_DENIED; ApprovalNeeded.
   */
  async authorize(tx: WriteTx, context: CallContext, question: Question): Promise<Authorization> {
    const decision = await this.decide(tx, context, question);
    const request = approvalRequestOf(question, decision);
    const approval = request === undefined ? undefined : await this.approvalLookup.authorize(tx, request, context.at);
    const isContinued = question.continues !== undefined && question.continues === decision.node?.record.id;
    const counted = isContinued ? 0 : await this.takeUses(tx, context, question, decision);
    return toAuthorization(context, question, decision, counted, approval);
  }

  /** Before the unit of the effect: takes nothing. Throws as `authorize`. */
  async preview(tx: ReadTx, context: CallContext, question: Question): Promise<Authorization> {
    const decision = await this.decide(tx, context, question);
    const request = approvalRequestOf(question, decision);
    const approval =
      request === undefined ? undefined : (await this.approvalLookup.require(tx, request, context.at)).id;
    return toAuthorization(context, question, decision, finiteUsesOf(decision).length, approval);
  }

  /** A decision that allows it, or asks. Throws the refusal, which names near misses. */
  private async decide(tx: ReadTx, context: CallContext, question: Question): Promise<RawDecision> {
    const decision = await this.evaluator.decide(tx, question, context.at);
    if (decision.code === 'ASK' || allows(decision.code)) return decision;
    const { refusedAs } = question;
    if (refusedAs !== undefined && refusedAs !== question.right) {
      // Only here: a copy reads the getters of a question, which are costly for commands.
      const asRefused = { ...question, right: refusedAs };
      const other = await this.evaluator.decide(tx, asRefused, context.at);
      if (other.code !== 'ASK' && !allows(other.code)) return this.decide(tx, context, asRefused);
    }
    const withNearMisses = await this.evaluator.explain(tx, question, context.at);
    throw capabilityDenied(context, toExplanation(context, question, withNearMisses));
  }

  /** A use counts for the capability and for everything that it was derived from. Answers with how many that are. */
  private async takeUses(
    tx: WriteTx,
    { via, at }: CallContext,
    { pid: actor }: Question,
    decision: RawDecision,
  ): Promise<number> {
    const used = decision.node?.record;
    const finite = finiteUsesOf(decision);
    if (used === undefined || finite.length === 0) return 0;
    assert(await this.repository.takeUses(tx, finite), `${used.id} was live and had no use left`);
    const data = { capability: used.id, counted: finite.map(({ id }) => id) };
    this.recorder.recordEvent(tx, { type: 'capability.used', at, pid: used.holder, data });
    for (const { id: capability, holder: target } of finite.filter(({ uses }) => uses === 1)) {
      const action = 'capability.spend';
      this.recorder.recordAudit(tx, { actor, via, at, action, outcome: 'ok', target, capability });
    }
    return finite.length;
  }
}

/** The question for a person, where the decision is ASK. */
export function approvalRequestOf(
  question: Question,
  { code, node, holder, graph, asks }: RawDecision,
): ApprovalRequest | undefined {
  if (code !== 'ASK' || holder === undefined) return undefined;
  const { pid, right, request, args = {}, argsForApproval = args } = question;
  const chain = node === undefined ? [] : graph.chainOf(node);
  return {
    pid,
    holder,
    right,
    resource: request.text,
    args: argsForApproval,
    argsHash: hashOfArgs(args),
    capability: node?.record.id ?? 'kin',
    chain: chain.map(({ id }) => id),
    expiresAt: earliestExpiry(chain),
    rules: ruleIdsOf(asks),
    spec: null,
    expiresInMs: questionTimeOf(asks),
    isEditable: question.isEditable === true,
    ...(question.edit === undefined ? {} : { edit: question.edit }),
    dependsOn: { processes: chain.map((record) => record.holder), expiresAt: earliestExpiry([...chain, ...asks]) },
  };
}

/** Of the capability and all above it, those with finite uses. */
function finiteUsesOf({ node, graph }: RawDecision): CapabilityRecord[] {
  return node === undefined ? [] : graph.chainOf(node).filter(({ uses }) => uses !== null);
}

function toAuthorization(
  context: CallContext,
  question: Question,
  raw: RawDecision,
  counted: number,
  approval: ApprovalId | undefined,
): Authorization {
  const code = raw.node === undefined ? 'KIN' : 'ALLOWED';
  const decision = toDecision(context, question, { ...raw, code });
  const capability = raw.node?.record.id ?? 'kin';
  const generation = raw.holder?.generation ?? 0;
  return { capability, counted, generation, decision, ...(approval === undefined ? {} : { approval }) };
}
