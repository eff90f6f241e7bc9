import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { KernelError } from '../../base/errors.js';
import { type ReadTx, Store } from '../../base/store.js';
import { EventRepository } from '../../events/event-repository.js';
import type { Caller } from '../../unit/caller.js';
import { ApprovalLookup } from '../approval/approval-lookup.js';
import { AuthorityCache } from '../decision/authority-cache.js';
import { approvalRequestOf } from '../decision/authorizer.js';
import type { RawDecision } from '../decision/decide.js';
import type { Decision, Explanation } from '../decision/decision.js';
import { Evaluator } from '../decision/evaluator.js';
import { type ExplanationBase, toDecision, toExplanation } from '../decision/explanation.js';
import { type Question, QuestionParser } from '../decision/question.js';
import { CapabilityViews } from '../holding/capability-views.js';

/** Decides without an effect: nothing is audited or used up. */
@injectable()
export class Check {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(EventRepository) private readonly events: EventRepository,
    @inject(QuestionParser) private readonly questionParser: QuestionParser,
    @inject(AuthorityCache) private readonly cache: AuthorityCache,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(ApprovalLookup) private readonly approvalLookup: ApprovalLookup,
    @inject(CapabilityViews) private readonly capabilityViews: CapabilityViews,
  ) {}

  /** Decides from memory. Never throws for a bad request: it answers BAD_REQUEST. */
  async check(caller: Caller, pid: unknown, right: unknown, resource: unknown, args: unknown = {}): Promise<Decision> {
    let question: Question;
    try {
      const parsed = this.questionParser.parse(pid, right, resource, args);
      question = parsed instanceof Promise ? await parsed : parsed;
    } catch (error) {
      return { effect: 'deny', code: 'BAD_REQUEST', reason: problemOf(error) };
    }
    const now = this.clock.peek();
    const decided = this.cache.decide(question, now);
    const decision = decided instanceof Promise ? await decided : decided;
    if (decision.code !== 'ASK') return toDecision({ via: caller.face }, question, decision);
    const withApproval = await this.store.read((tx) => this.applyApproval(tx, question, decision, now));
    return toDecision({ via: caller.face }, question, withApproval);
  }

  /** Gives the same decision as `check`, with near misses and a remedy. */
  async explain(
    caller: Caller,
    pid: unknown,
    right: unknown,
    resource: unknown,
    args: unknown = {},
  ): Promise<Explanation> {
    const question = await this.parseQuestion(pid, right, resource, args);
    return this.store.read(async (tx) => {
      const generation = await this.events.head(tx);
      if ('hint' in question) return { ...question, generation };
      const now = this.clock.peek();
      const decision = await this.applyApproval(tx, question, await this.evaluator.explain(tx, question, now), now);
      return {
        ...toExplanation({ via: caller.face }, question, decision),
        generation,
        ...(await this.visibleChain(tx, caller, decision)),
      };
    });
  }

  /** The question, or the explanation of what is wrong with it. */
  private async parseQuestion(
    pid: unknown,
    right: unknown,
    resource: unknown,
    args: unknown,
  ): Promise<Question | ExplanationBase> {
    try {
      return await this.questionParser.parse(pid, right, resource, args);
    } catch (error) {
      const input = { pid: toText(pid), right: toText(right), resource: toText(resource) };
      const hint = problemOf(error);
      return { ...input, effect: 'deny', code: 'BAD_REQUEST', nearest: [], denies: [], asks: [], hint };
    }
  }

  /** Turns ASK into an allow where a person has approved the call already. */
  private async applyApproval(
    tx: ReadTx,
    question: Question,
    decision: RawDecision,
    now: number,
  ): Promise<RawDecision> {
    const request = approvalRequestOf(question, decision);
    if (request === undefined || (await this.approvalLookup.find(tx, request, now)) === undefined) return decision;
    return { ...decision, code: decision.node === undefined ? 'KIN' : 'ALLOWED' };
  }

  /** A process sees only those capabilities of the chain that it holds itself. */
  private async visibleChain(tx: ReadTx, caller: Caller, { node }: RawDecision): Promise<Pick<Explanation, 'chain'>> {
    if (node === undefined) return {};
    const chain = await this.capabilityViews.chainOf(tx, node.record);
    return { chain: caller.face === 'host' ? chain : chain.filter(({ holder }) => holder === caller.pid) };
  }
}

/** The message and the hint of a kernel error; any other error is thrown on. */
function problemOf(error: unknown): string {
  if (!(error instanceof KernelError)) throw error;
  return `${error.message} ${error.hint}`;
}

/** Input that could not be parsed, as far as it can be shown: bounded and well-formed, empty if it is not a text. */
function toText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 4096).toWellFormed() : '';
}
