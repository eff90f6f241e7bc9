import { inject, injectable } from 'inversify';
import { CapabilityError } from '../../base/errors.js';
import type { ApprovalId, Pid, RuleId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { ApprovalRequest } from '../approval/approval.js';
import { ApprovalLookup } from '../approval/approval-lookup.js';
import { applicableRules, hashOfArgs } from '../decision/decide.js';
import { CapabilityRepository, type HolderState } from '../holding/capability-repository.js';
import { type Pattern, parseRequest } from '../resource/resource.js';
import type { Right } from '../resource/rights.js';
import { earliestExpiry, isInForce, questionTimeOf, type RuleRecord, ruleIdsOf } from './rule.js';
import { type Handover, Rules, type TreePosition } from './rules.js';

/** The face that a call came through, and its time. */
export type CallContext = Pick<Act, 'via' | 'at'>;

/** A process with what decides which rules bind it, and to which program an approval is bound. */
type RuleSubject = { readonly pid: Pid } & Pick<HolderState, 'n' | 'path' | 'generation'>;

/**
 * Checks the host's rules on calls that need no capability, and on handing capabilities on. Rules on the use of a
 * capability are part of its decision.
 */
@injectable()
export class RuleGate {
  constructor(
    @inject(Rules) private readonly rules: Rules,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ApprovalLookup) private readonly approvalLookup: ApprovalLookup,
  ) {}

  /**
   * Checks a spawn under `parent`: of that image with these arguments, of which an approval keeps `shown`, and of the
   * patterns that are delegated to the child. The rules that bind the parent bind the child too, so only the parent is
   * checked. Returns the approvals that were used. Throws CAPABILITY_DENIED, ApprovalNeeded.
   */
  async checkSpawn(
    tx: WriteTx,
    context: CallContext,
    parent: RuleSubject,
    image: { readonly name: string; readonly args: JsonValue; readonly shown: () => JsonValue },
    delegated: readonly Pattern[],
  ): Promise<ApprovalId[]> {
    const rules = await this.rules.findBinding(tx, parent);
    if (rules.length === 0) return [];
    const { name, args, shown } = image;
    const spawn = this.requestForResource(rules, context, parent, 'spawn', `image:${name}`, args);
    const requests = [
      spawn && { ...spawn, args: shown() },
      ...delegated.map((pattern) => this.requestForHandover(rules, context, parent, pattern)),
    ];
    return this.useApprovals(tx, requests, context.at);
  }

  /** Checks a call that needs no capability. Returns the approval that was used. Throws as `checkSpawn`. */
  async check(
    tx: WriteTx,
    context: CallContext,
    pid: Pid,
    right: Right,
    resource: string,
    args: JsonValue = {},
  ): Promise<ApprovalId | undefined> {
    const subject = await this.findSubject(tx, pid);
    const rules = subject === undefined ? [] : await this.rules.findBinding(tx, subject);
    if (subject === undefined || rules.length === 0) return undefined;
    const request = this.requestForResource(rules, context, subject, right, resource, args);
    const [approval] = await this.useApprovals(tx, [request], context.at);
    return approval;
  }

  /** Checks before the unit that does it, and uses no approval. Throws as `checkSpawn`, naming the first that fails. */
  async preview(tx: ReadTx, context: CallContext, pid: Pid, right: Right, resources: readonly string[]): Promise<void> {
    const subject = await this.findSubject(tx, pid);
    const rules = subject === undefined ? [] : await this.rules.findBinding(tx, subject);
    if (subject === undefined || rules.length === 0) return;
    for (const resource of resources) {
      const request = this.requestForResource(rules, context, subject, right, resource, {});
      if (request !== undefined) await this.approvalLookup.require(tx, request, context.at);
    }
  }

  /**
   * Checks that a handover does not take anything out of the reach of a rule that binds the giver. Returns the approvals
   * that were used. Throws CAPABILITY_DENIED, ApprovalNeeded.
   */
  async checkHandover(
    tx: WriteTx,
    context: CallContext,
    from: RuleSubject,
    to: TreePosition,
    handover: Handover,
  ): Promise<ApprovalId[]> {
    const rules = await this.rules.findBinding(tx, from);
    const request = this.requestForHandover(rules, context, from, handover.pattern);
    const targetsOfReceiver = new Set([0, ...to.path, to.n]);
    const escaped = rules.filter(
      (rule) => !targetsOfReceiver.has(rule.n) && this.rules.touches(rule, handover) && isInForce(rule, context.at),
    );
    if (escaped.length > 0) throw escapesRule(context, from.pid, handover.pattern.text, escaped);
    return this.useApprovals(tx, [request], context.at);
  }

  private async findSubject(tx: ReadTx, pid: Pid): Promise<RuleSubject | undefined> {
    const holder = await this.capabilities.findHolder(tx, pid);
    return holder === undefined ? undefined : { pid, ...holder };
  }

  private async useApprovals(
    tx: WriteTx,
    requests: readonly (ApprovalRequest | undefined)[],
    at: number,
  ): Promise<ApprovalId[]> {
    const used: ApprovalId[] = [];
    for (const request of requests) {
      if (request !== undefined) used.push(await this.approvalLookup.authorize(tx, request, at));
    }
    return used;
  }

  /** The question for a person, where a rule asks about the resource. Throws CAPABILITY_DENIED when one forbids it. */
  private requestForResource(
    rules: readonly RuleRecord[],
    context: CallContext,
    subject: RuleSubject,
    right: Right,
    resource: string,
    args: JsonValue,
  ): ApprovalRequest | undefined {
    const matching = this.rules.filterMatching(rules, [parseRequest(resource)]);
    const denies = applicableRules('deny', matching, { right, args }, context.at);
    if (denies.length > 0) throw forbiddenByRule(context, subject.pid, right, resource, denies);
    return toApprovalRequest(
      subject,
      right,
      resource,
      args,
      applicableRules('ask', matching, { right, args }, context.at),
    );
  }

  /** The question for a person, where a rule asks about `grant` on the pattern. Throws CAPABILITY_DENIED. */
  private requestForHandover(
    rules: readonly RuleRecord[],
    context: CallContext,
    from: RuleSubject,
    pattern: Pattern,
  ): ApprovalRequest | undefined {
    const matching = rules.filter((rule) => this.rules.touches(rule, { pattern, rights: ['grant'] }));
    const question = { right: 'grant', args: {} } as const;
    const denies = applicableRules('deny', matching, question, context.at);
    if (denies.length > 0) throw forbiddenByRule(context, from.pid, 'grant', pattern.text, denies);
    return toApprovalRequest(from, 'grant', pattern.text, {}, applicableRules('ask', matching, question, context.at));
  }
}

/** Audit facts that name all approvals of a call, where there are several: a record has room for one. */
export function factsOfApprovals(approvals: ApprovalId[]): { approvals?: ApprovalId[] } {
  return approvals.length > 1 ? { approvals } : {};
}

/** The question for a person about a call that needs no capability; undefined when no rule asks. */
function toApprovalRequest(
  subject: RuleSubject,
  right: Right,
  resource: string,
  args: JsonValue,
  asks: readonly RuleRecord[],
): ApprovalRequest | undefined {
  if (asks.length === 0) return undefined;
  const { pid } = subject;
  const call = {
    pid,
    holder: subject,
    right,
    resource,
    args,
    argsHash: hashOfArgs(args),
    spec: null,
    isEditable: false,
  };
  const expiresInMs = questionTimeOf(asks);
  const dependsOn = { processes: [], expiresAt: earliestExpiry(asks) };
  return { ...call, capability: null, chain: [], expiresAt: null, rules: ruleIdsOf(asks), expiresInMs, dependsOn };
}

/** The rules as a fact of an error; a process learns only that there is one. */
function visibleRules({ via }: CallContext, denies: readonly RuleRecord[]): { readonly denies?: RuleId[] } {
  return via === 'process' ? {} : { denies: ruleIdsOf(denies) };
}

export function liftHint(denies: readonly RuleId[] | undefined): string {
  const [rule] = denies ?? [];
  if (rule === undefined) return 'A rule of the host forbids it, and only the host can lift that.';
  return `Lift the rule: capabilities.lift('${rule}').`;
}

function forbiddenByRule(
  context: CallContext,
  pid: Pid,
  right: Right,
  resource: string,
  denies: readonly RuleRecord[],
): CapabilityError {
  const rules = visibleRules(context, denies);
  return new CapabilityError('CAPABILITY_DENIED', `A rule forbids process ${pid} to ${right} ${resource}.`, {
    facts: { pid, right, resource, code: 'DENY_RULE', ...rules },
    hint: liftHint(rules.denies),
  });
}

function escapesRule(context: CallContext, pid: Pid, resource: string, denies: readonly RuleRecord[]): CapabilityError {
  const rules = visibleRules(context, denies);
  return new CapabilityError(
    'CAPABILITY_DENIED',
    `Process ${pid} is bound by a rule on ${resource} that does not bind the receiver.`,
    {
      facts: { pid, right: 'grant', resource, code: 'DENY_RULE', ...rules },
      hint: `Give it to a process spawned under ${pid}. ${liftHint(rules.denies)}`,
    },
  );
}
