import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import { KernelError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/plain.js';
import { parseSpec } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import type { Caller } from '../act.js';
import { allows, type Decision, type Explanation } from '../decision.js';
import { Evaluator, type Question, type Verdict } from '../evaluator.js';
import { mend } from '../hints.js';
import { Listing } from '../listing.js';
import { parseRequest } from '../resource.js';
import { parseRights } from '../rights.js';

/** Decisions without an effect. */
@injectable()
export class Explain {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Listing) private readonly listing: Listing,
  ) {}

  /** Never throws for a bad request: it answers BAD_REQUEST. */
  async check(caller: Caller, pid: unknown, right: unknown, resource: unknown, args: unknown = {}): Promise<Decision> {
    const { effect, code, capability, hint } = await this.explain(caller, pid, right, resource, args);
    return { effect, code, ...(capability === undefined ? {} : { capability }), reason: hint };
  }

  /** The same decision, with what came near and what would mend it. */
  async explain(
    caller: Caller,
    pid: unknown,
    right: unknown,
    resource: unknown,
    args: unknown = {},
  ): Promise<Explanation> {
    let question: Question;
    try {
      question = parseQuestion(pid, right, resource, args);
    } catch (error) {
      if (!(error instanceof KernelError)) throw error;
      const asked = { pid: shown(pid), right: shown(right), resource: shown(resource) };
      const hint = `${error.message} ${error.hint}`;
      return { ...asked, effect: 'deny', code: 'BAD_REQUEST', nearest: [], denies: [], hint };
    }
    return this.store.read(async (tx) => {
      const verdict = await this.evaluator.decide(tx, question, this.clock.peek());
      return { ...explanation(caller, question, verdict), ...(await this.chain(tx, caller, verdict)) };
    });
  }

  private async chain(tx: ReadTx, caller: Caller, { record }: Verdict): Promise<Pick<Explanation, 'chain'>> {
    if (record === undefined) return {};
    const chain = await this.listing.chain(tx, record);
    return { chain: caller.face === 'host' ? chain : chain.filter(({ holder }) => holder === caller.pid) };
  }
}

/** What was asked and is not a request: as much of it as can be shown. */
function shown(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 4096).toWellFormed() : '';
}

/** Throws INVALID_INPUT. The arguments are copied once; that copy is what is looked at. */
export function parseQuestion(
  pid: unknown,
  right: unknown,
  resource: unknown,
  args: unknown,
): Question & { readonly args: JsonValue } {
  const request = parseRequest(parseSpec(z.string(), resource, 'resource'));
  const [only] = parseRights(request.kind, [parseSpec(z.string(), right, 'right')], 'right');
  return {
    pid: parseSpec(z.string(), pid, 'pid'),
    right: only as Question['right'],
    request,
    args: copyPlain(args, 'args', payloadLimits),
  };
}

/** What a verdict amounts to, as far as the caller may know. */
export function explanation(caller: Caller, { pid, right, request }: Question, verdict: Verdict): Explanation {
  const { code, record, nearest } = verdict;
  const asked = { pid, right, resource: request.text, code, nearest };
  if (allows(code)) {
    const capability = record?.id ?? 'kin';
    return { ...asked, effect: 'allow', capability, denies: [], hint: `Allowed by ${capability}.` };
  }
  const denies = caller.face === 'host' ? verdict.denies : [];
  return {
    ...asked,
    effect: 'deny',
    denies,
    hint: mend(code, { pid, right, resource: request.text }, nearest, denies),
  };
}
