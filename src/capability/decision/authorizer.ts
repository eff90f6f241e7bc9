import { inject, injectable } from 'inversify';
import type { ApprovalId, CapabilityId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { ApprovalRequest } from '../approval/approval.js';
import { ApprovalLookup } from '../approval/approval-lookup.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { UseCounter } from '../holding/use-counter.js';
import { earliestExpiry, idsOf } from '../rule/rule.js';
import type { Asking } from '../rule/rule-gate.js';
import { hashOfArgs } from './decide.js';
import { allows, type Decision } from './decision.js';
import { Evaluator, type LocatedDecision } from './evaluator.js';
import { decided, denial, explained } from './explanation.js';
import type { Question } from './question.js';

/** By what something is allowed. */
export interface Authorization {
  readonly capability: CapabilityId | 'kin';
  /** By which a rule that asks is waived. */
  readonly approval?: ApprovalId;
  /** How many counters of uses it takes down. */
  readonly counted: number;
  /** Of the process that acts. */
  readonly generation: number;
  readonly decision: Decision;
}

/** Decides for effects: what a process may do now, and what that uses up. */
@injectable()
export class Authorizer {
  constructor(
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(ApprovalLookup) private readonly clearance: ApprovalLookup,
    @inject(UseCounter) private readonly uses: UseCounter,
  ) {}

  /**
   * In the unit of the effect: takes a use, and an approval where a rule asks. Throws CAPABILITY_REVOKED or
   * CAPABILITY_EXPIRED where that alone was missing, otherwise CAPABILITY_DENIED; AskNeeded.
   */
  async authorize(tx: WriteTx, asking: Asking, question: Question): Promise<Authorization> {
    const ruling = await this.allowed(tx, asking, question);
    const ask = askOf(question, ruling);
    const approval = ask === undefined ? undefined : await this.clearance.authorize(tx, ask, asking.at);
    const counted = finite(ruling);
    if (ruling.slot !== undefined) await this.uses.claim(tx, ruling.slot.record, counted, asking.at);
    return warrant(asking, question, ruling, counted.length, approval);
  }

  /** The same before that unit: nothing is taken. Throws as `take`. */
  async preview(tx: ReadTx, asking: Asking, question: Question): Promise<Authorization> {
    const ruling = await this.allowed(tx, asking, question);
    const ask = askOf(question, ruling);
    const approval = ask === undefined ? undefined : (await this.clearance.needed(tx, ask, asking.at)).id;
    return warrant(asking, question, ruling, finite(ruling).length, approval);
  }

  private async allowed(tx: ReadTx, asking: Asking, question: Question): Promise<LocatedDecision> {
    const ruling = await this.evaluator.decide(tx, question, asking.at);
    if (ruling.code === 'ASK' || allows(ruling.code)) return ruling;
    const nearer = await this.evaluator.explain(tx, question, asking.at);
    throw denial(asking, explained(asking, question, nearer));
  }
}

/** What the rules ask about, if they do. */
export function askOf(
  { pid, right, request, args = {}, shown = args }: Question,
  ruling: LocatedDecision,
): ApprovalRequest | undefined {
  const { code, slot, holder, graph, asks } = ruling;
  if (code !== 'ASK' || holder === undefined) return undefined;
  const chain = slot === undefined ? [] : graph.chain(slot);
  return {
    pid,
    holder,
    right,
    resource: request.text,
    args: shown,
    argsHash: hashOfArgs(args),
    capability: slot?.record.id ?? 'kin',
    chain: chain.map(({ id }) => id),
    expiresAt: earliestExpiry(chain),
    rules: idsOf(asks),
    spec: null,
    dependsOn: { on: chain.map((one) => one.holder), until: earliestExpiry([...chain, ...asks]) },
  };
}

/** Of the capability and all above it, those with finite uses. */
function finite({ slot, graph }: LocatedDecision): CapabilityRecord[] {
  return slot === undefined ? [] : graph.chain(slot).filter(({ uses }) => uses !== null);
}

function warrant(
  asking: Asking,
  question: Question,
  ruling: LocatedDecision,
  counted: number,
  approval: ApprovalId | undefined,
): Authorization {
  const code = ruling.slot === undefined ? 'KIN' : 'ALLOWED';
  const decision = decided(asking, question, { ...ruling, code });
  const capability = ruling.slot?.record.id ?? 'kin';
  const generation = ruling.holder?.generation ?? 0;
  return { capability, counted, generation, decision, ...(approval === undefined ? {} : { approval }) };
}
