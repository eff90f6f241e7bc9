import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { KernelError } from '../../base/errors.js';
import { type ReadTx, Store } from '../../base/store.js';
import { EventRepository } from '../../events/event-repository.js';
import type { Caller } from '../../unit/caller.js';
import { ApprovalLookup } from '../approval/approval-lookup.js';
import { AuthorityCache } from '../decision/authority-cache.js';
import { askOf } from '../decision/authorizer.js';
import type { Decision, Explanation } from '../decision/decision.js';
import { Evaluator, type LocatedDecision } from '../decision/evaluator.js';
import { decided, explained, type Told } from '../decision/explanation.js';
import type { Question } from '../decision/question.js';
import { Questions } from '../decision/questions.js';
import { CapabilityViews } from '../holding/capability-views.js';

/** Decisions without an effect. */
@injectable()
export class Check {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(EventRepository) private readonly events: EventRepository,
    @inject(Questions) private readonly questions: Questions,
    @inject(AuthorityCache) private readonly cache: AuthorityCache,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(ApprovalLookup) private readonly clearance: ApprovalLookup,
    @inject(CapabilityViews) private readonly listing: CapabilityViews,
  ) {}

  /** Answers from memory. Never throws for a bad request: it answers BAD_REQUEST. */
  async check(caller: Caller, pid: unknown, right: unknown, resource: unknown, args: unknown = {}): Promise<Decision> {
    let question: Question;
    try {
      const asked = this.questions.of(pid, right, resource, args);
      question = asked instanceof Promise ? await asked : asked;
    } catch (error) {
      return { effect: 'deny', code: 'BAD_REQUEST', reason: problemOf(error) };
    }
    const now = this.clock.peek();
    const known = this.cache.decide(question, now);
    const ruling = known instanceof Promise ? await known : known;
    if (ruling.code !== 'ASK') return decided({ via: caller.face }, question, ruling);
    return decided(
      { via: caller.face },
      question,
      await this.store.read((tx) => this.answered(tx, question, ruling, now)),
    );
  }

  /** The same decision, with what came near and what would mend it. */
  async explain(
    caller: Caller,
    pid: unknown,
    right: unknown,
    resource: unknown,
    args: unknown = {},
  ): Promise<Explanation> {
    const question = await this.question(pid, right, resource, args);
    return this.store.read(async (tx) => {
      const generation = await this.events.head(tx);
      if ('hint' in question) return { ...question, generation };
      const now = this.clock.peek();
      const ruling = await this.answered(tx, question, await this.evaluator.explain(tx, question, now), now);
      return {
        ...explained({ via: caller.face }, question, ruling),
        generation,
        ...(await this.chain(tx, caller, ruling)),
      };
    });
  }

  /** What was asked, or what is wrong with it. */
  private async question(pid: unknown, right: unknown, resource: unknown, args: unknown): Promise<Question | Told> {
    try {
      return await this.questions.of(pid, right, resource, args);
    } catch (error) {
      const asked = { pid: shown(pid), right: shown(right), resource: shown(resource) };
      const hint = problemOf(error);
      return { ...asked, effect: 'deny', code: 'BAD_REQUEST', nearest: [], denies: [], asks: [], hint };
    }
  }

  /** What a person has approved already needs no asking. */
  private async answered(
    tx: ReadTx,
    question: Question,
    ruling: LocatedDecision,
    now: number,
  ): Promise<LocatedDecision> {
    const ask = askOf(question, ruling);
    if (ask === undefined || (await this.clearance.find(tx, ask, now)) === undefined) return ruling;
    return { ...ruling, code: ruling.slot === undefined ? 'KIN' : 'ALLOWED' };
  }

  private async chain(tx: ReadTx, caller: Caller, { slot }: LocatedDecision): Promise<Pick<Explanation, 'chain'>> {
    if (slot === undefined) return {};
    const chain = await this.listing.chain(tx, slot.record);
    return { chain: caller.face === 'host' ? chain : chain.filter(({ holder }) => holder === caller.pid) };
  }
}

/** What is wrong with a request; an error that is none of its own goes on. */
function problemOf(error: unknown): string {
  if (!(error instanceof KernelError)) throw error;
  return `${error.message} ${error.hint}`;
}

/** What was asked and is not a request: as much of it as can be shown. */
function shown(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 4096).toWellFormed() : '';
}
