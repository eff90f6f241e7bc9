import { inject, injectable } from 'inversify';
import type { ApprovalId, CapabilityId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Ask } from '../approval/approval.js';
import { Clearance } from '../approval/approval-lookup.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { Uses } from '../holding/use-counter.js';
import { earliestExpiry, idsOf } from '../rule/rule.js';
import type { Asking } from '../rule/rule-gate.js';
import { hashOfArgs } from './decide.js';
import { allows, type Decision } from './decision.js';
import { Evaluator, type Ruling } from './evaluator.js';
import { decided, denial, explained } from './explanation.js';
import type { Question } from './question.js';

/** By what something is allowed. */
export interface Warrant {
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
export class Warrants {
  constructor(
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Clearance) private readonly clearance: Clearance,
    @inject(Uses) private readonly uses: Uses,
  ) {}

  /**
   * In the unit of the effect: takes a use, and an approval where a rule asks. Throws CAPABILITY_REVOKED or
   * CAPABILITY_EXPIRED where that alone was missing, otherwise CAPABILITY_DENIED; AskNeeded.
   */
  async take(tx: WriteTx, asking: Asking, question: Question): Promise<Warrant> {
    const ruling = await this.allowed(tx, asking, question);
    const ask = askOf(question, ruling);
    const approval = ask === undefined ? undefined : await this.clearance.take(tx, ask, asking.at);
    const counted = finite(ruling);
    if (ruling.slot !== undefined) await this.uses.claim(tx, ruling.slot.record, counted, asking.at);
    return warrant(asking, question, ruling, counted.length, approval);
  }

  /** The same before that unit: nothing is taken. Throws as `take`. */
  async look(tx: ReadTx, asking: Asking, question: Question): Promise<Warrant> {
    const ruling = await this.allowed(tx, asking, question);
    const ask = askOf(question, ruling);
    const approval = ask === undefined ? undefined : (await this.clearance.needed(tx, ask, asking.at)).id;
    return warrant(asking, question, ruling, finite(ruling).length, approval);
  }

  private async allowed(tx: ReadTx, asking: Asking, question: Question): Promise<Ruling> {
    const ruling = await this.evaluator.decide(tx, question, asking.at);
    if (ruling.code === 'ASK' || allows(ruling.code)) return ruling;
    const nearer = await this.evaluator.explain(tx, question, asking.at);
    throw denial(asking, explained(asking, question, nearer));
  }
}

/** What the rules ask about, if they do. */
export function askOf({ pid, right, request, args = {}, shown = args }: Question, ruling: Ruling): Ask | undefined {
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
    rests: { on: chain.map((one) => one.holder), until: earliestExpiry([...chain, ...asks]) },
  };
}

/** Of the capability and all above it, those with finite uses. */
function finite({ slot, graph }: Ruling): CapabilityRecord[] {
  return slot === undefined ? [] : graph.chain(slot).filter(({ uses }) => uses !== null);
}

function warrant(
  asking: Asking,
  question: Question,
  ruling: Ruling,
  counted: number,
  approval: ApprovalId | undefined,
): Warrant {
  const code = ruling.slot === undefined ? 'KIN' : 'ALLOWED';
  const decision = decided(asking, question, { ...ruling, code });
  const capability = ruling.slot?.record.id ?? 'kin';
  const generation = ruling.holder?.generation ?? 0;
  return { capability, counted, generation, decision, ...(approval === undefined ? {} : { approval }) };
}
