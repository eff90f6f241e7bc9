import { inject, injectable } from 'inversify';
import { CapabilityError } from '../../base/errors.js';
import type { ApprovalId, Pid, RuleId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { ApprovalRequest } from '../approval/approval.js';
import { ApprovalLookup } from '../approval/approval-lookup.js';
import { applying, hashOfArgs } from '../decision/decide.js';
import { CapabilityRepository, type HolderState } from '../holding/capability-repository.js';
import { type Pattern, parseRequest } from '../resource/resource.js';
import type { Right } from '../resource/rights.js';
import { earliestExpiry, idsOf, isOn, type RuleRecord } from './rule.js';
import { type Handover, Rules, type TreePosition } from './rules.js';

/** Through which face something is asked, and when. */
export type Asking = Pick<Act, 'via' | 'at'>;

/** A process, as rules bind it. */
type RuleSubject = { readonly pid: Pid } & Pick<HolderState, 'n' | 'path' | 'generation'>;

/** The host's rules on what needs no capability, and on giving. What needs one is judged with it. */
@injectable()
export class RuleGate {
  constructor(
    @inject(Rules) private readonly book: Rules,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ApprovalLookup) private readonly clearance: ApprovalLookup,
  ) {}

  /**
   * Passes a birth under `parent`: of that image with these arguments, of which a question keeps `shown`, and with what is
   * handed down. The rules bind the child as they bind the parent, so asking for the parent is enough. Answers with the
   * approvals that it took. Throws CAPABILITY_DENIED, AskNeeded.
   */
  async passBirth(
    tx: WriteTx,
    asking: Asking,
    parent: RuleSubject,
    image: { readonly name: string; readonly args: JsonValue; readonly shown?: JsonValue },
    handedDown: readonly Pattern[],
  ): Promise<ApprovalId[]> {
    const rules = await this.book.binding(tx, parent);
    if (rules.length === 0) return [];
    const { name, args, shown = args } = image;
    const spawning = this.request(rules, asking, parent, 'spawn', `image:${name}`, args);
    const asks = [
      spawning && { ...spawning, args: shown },
      ...handedDown.map((pattern) => this.handingOn(rules, asking, parent, pattern)),
    ];
    return this.taken(tx, asks, asking.at);
  }

  /** Passes what `pid` needs no capability for. Answers with the approval that it took. Throws as passBirth. */
  async check(
    tx: WriteTx,
    asking: Asking,
    pid: Pid,
    right: Right,
    resource: string,
    args: JsonValue = {},
  ): Promise<ApprovalId | undefined> {
    const bearer = await this.bearer(tx, pid);
    const rules = bearer === undefined ? [] : await this.book.binding(tx, bearer);
    if (bearer === undefined || rules.length === 0) return undefined;
    const [approval] = await this.taken(tx, [this.request(rules, asking, bearer, right, resource, args)], asking.at);
    return approval;
  }

  /** Whether all of it would pass, before the unit that does it. Throws as passBirth, naming the first that would not. */
  async assertPasses(tx: ReadTx, asking: Asking, pid: Pid, right: Right, resources: readonly string[]): Promise<void> {
    const bearer = await this.bearer(tx, pid);
    const rules = bearer === undefined ? [] : await this.book.binding(tx, bearer);
    if (bearer === undefined || rules.length === 0) return;
    for (const resource of resources) {
      const ask = this.request(rules, asking, bearer, right, resource, {});
      if (ask !== undefined) await this.clearance.needed(tx, ask, asking.at);
    }
  }

  /**
   * Passes a gift, unless it would take something out of the reach of a rule that binds the giver. Answers with the
   * approvals that it took. Throws CAPABILITY_DENIED, AskNeeded.
   */
  async passGift(
    tx: WriteTx,
    asking: Asking,
    from: RuleSubject,
    to: TreePosition,
    gift: Handover,
  ): Promise<ApprovalId[]> {
    const rules = await this.book.binding(tx, from);
    const ask = this.handingOn(rules, asking, from, gift.pattern);
    const bound = new Set([0, ...to.path, to.n]);
    const left = rules.filter((rule) => !bound.has(rule.n) && this.book.touches(rule, gift) && isOn(rule, asking.at));
    if (left.length > 0) throw leavesRule(asking, from.pid, gift.pattern.text, left);
    return this.taken(tx, [ask], asking.at);
  }

  private async bearer(tx: ReadTx, pid: Pid): Promise<RuleSubject | undefined> {
    const holder = await this.capabilities.holder(tx, pid);
    return holder === undefined ? undefined : { pid, ...holder };
  }

  private async taken(tx: WriteTx, asks: readonly (ApprovalRequest | undefined)[], at: number): Promise<ApprovalId[]> {
    const taken: ApprovalId[] = [];
    for (const ask of asks) if (ask !== undefined) taken.push(await this.clearance.authorize(tx, ask, at));
    return taken;
  }

  /** What the rules ask about a resource, if they do. Throws CAPABILITY_DENIED when one forbids it. */
  private request(
    rules: readonly RuleRecord[],
    asking: Asking,
    bearer: RuleSubject,
    right: Right,
    resource: string,
    args: JsonValue,
  ): ApprovalRequest | undefined {
    const about = this.book.about(rules, [parseRequest(resource)]);
    const denies = applying('deny', about, { right, args }, asking.at);
    if (denies.length > 0) throw forbidden(asking, bearer.pid, right, resource, denies);
    return bareAsk(bearer, right, resource, args, applying('ask', about, { right, args }, asking.at));
  }

  /** What the rules on the right `grant` ask about handing a pattern on. Throws CAPABILITY_DENIED. */
  private handingOn(
    rules: readonly RuleRecord[],
    asking: Asking,
    from: RuleSubject,
    pattern: Pattern,
  ): ApprovalRequest | undefined {
    const about = rules.filter((rule) => this.book.touches(rule, { pattern, rights: ['grant'] }));
    const question = { right: 'grant', args: {} } as const;
    const denies = applying('deny', about, question, asking.at);
    if (denies.length > 0) throw forbidden(asking, from.pid, 'grant', pattern.text, denies);
    return bareAsk(from, 'grant', pattern.text, {}, applying('ask', about, question, asking.at));
  }
}

/** A record names one approval; where a call took several, its facts name them all. */
export function severalOf(approvals: ApprovalId[]): { approvals?: ApprovalId[] } {
  return approvals.length > 1 ? { approvals } : {};
}

/** A question about something that needs no capability. */
function bareAsk(
  bearer: RuleSubject,
  right: Right,
  resource: string,
  args: JsonValue,
  asks: readonly RuleRecord[],
): ApprovalRequest | undefined {
  if (asks.length === 0) return undefined;
  const { pid } = bearer;
  const call = { pid, holder: bearer, right, resource, args, argsHash: hashOfArgs(args), spec: null };
  const rests = { on: [], until: earliestExpiry(asks) };
  return { ...call, capability: null, chain: [], expiresAt: null, rules: idsOf(asks), dependsOn: rests };
}

/** A process learns that there is a rule, and not which. */
function known({ via }: Asking, denies: readonly RuleRecord[]): { readonly denies?: RuleId[] } {
  return via === 'process' ? {} : { denies: idsOf(denies) };
}

export function liftHint(denies: readonly RuleId[] | undefined): string {
  const [rule] = denies ?? [];
  if (rule === undefined) return 'A rule of the host forbids it, and only the host can lift that.';
  return `Lift the rule: capabilities.lift('${rule}').`;
}

function forbidden(
  asking: Asking,
  pid: Pid,
  right: Right,
  resource: string,
  denies: readonly RuleRecord[],
): CapabilityError {
  const shown = known(asking, denies);
  return new CapabilityError('CAPABILITY_DENIED', `A rule forbids process ${pid} to ${right} ${resource}.`, {
    facts: { pid, right, resource, code: 'DENY_RULE', ...shown },
    hint: liftHint(shown.denies),
  });
}

function leavesRule(asking: Asking, pid: Pid, resource: string, denies: readonly RuleRecord[]): CapabilityError {
  const shown = known(asking, denies);
  return new CapabilityError(
    'CAPABILITY_DENIED',
    `Process ${pid} is bound by a rule on ${resource} that does not bind the receiver.`,
    {
      facts: { pid, right: 'grant', resource, code: 'DENY_RULE', ...shown },
      hint: `Give it to a process born under ${pid}. ${liftHint(shown.denies)}`,
    },
  );
}
