import { inject, injectable } from 'inversify';
import { CapabilityError } from '../base/errors.js';
import type { Pid, RuleId } from '../base/ids.js';
import type { ReadTx } from '../base/store.js';
import type { Act } from './act.js';
import { storedPattern } from './capability-record.js';
import { CapabilityRepository, type HolderState } from './capability-repository.js';
import { type Pattern, parseRequest, type Request } from './resource.js';
import { matches, overlaps } from './resource-coverage.js';
import { maskOfRights, type Right } from './rights.js';
import type { RuleRecord } from './rule.js';
import { RuleRepository } from './rule-repository.js';

/** Through which face something is asked, and when. */
type Asking = Pick<Act, 'via' | 'at'>;

/** The place of a process in the tree it was born in. */
type Bound = Pick<HolderState, 'n' | 'path'>;

/** What somebody is about to give: a pattern, and every right that goes with it. */
export interface Gift {
  readonly pattern: Pattern;
  readonly rights: readonly Right[];
}

/**
 * The host's deny rules, as they bind a process: those for all, those on itself and those on every process it was born
 * under, whoever is its parent now.
 */
@injectable()
export class HostRules {
  constructor(
    @inject(RuleRepository) private readonly rules: RuleRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
  ) {}

  /** The rules that forbid `right` on one of the names that a resource goes by. */
  async denying(
    tx: ReadTx,
    holder: HolderState,
    right: Right,
    names: readonly Request[],
    now: number,
  ): Promise<RuleId[]> {
    return against(await this.binding(tx, holder, now), right, names);
  }

  /**
   * Refuses a birth under `parent` that a rule forbids: of that image, or with what is handed down. The rules bind the
   * child as they bind the parent, so asking for the parent is enough. Throws CAPABILITY_DENIED.
   */
  async assertBirth(
    tx: ReadTx,
    asking: Asking,
    parent: Bound & { readonly pid: Pid },
    image: string,
    handedDown: readonly Pattern[],
  ): Promise<void> {
    const rules = await this.binding(tx, parent, asking.at);
    if (rules.length === 0) return;
    refuse(rules, asking, parent.pid, 'spawn', `image:${image}`);
    for (const pattern of handedDown) refuseHandingOn(rules, asking, parent.pid, pattern);
  }

  /** Refuses what a rule forbids, whatever `pid` holds. Throws CAPABILITY_DENIED naming the first of `resources`. */
  async assertNotDenied(
    tx: ReadTx,
    asking: Asking,
    pid: Pid,
    right: Right,
    resources: readonly string[],
  ): Promise<void> {
    const holder = await this.capabilities.holder(tx, pid);
    const rules = holder === undefined ? [] : await this.binding(tx, holder, asking.at);
    if (rules.length === 0) return;
    for (const resource of resources) refuse(rules, asking, pid, right, resource);
  }

  /** Refuses a gift that would take something out of the reach of a rule that binds the giver. Throws CAPABILITY_DENIED. */
  async assertMayGive(
    tx: ReadTx,
    act: Act,
    from: { readonly pid: Pid; readonly state: HolderState },
    to: HolderState,
    gift: Gift,
  ): Promise<void> {
    const rules = await this.binding(tx, from.state, act.at);
    refuseHandingOn(rules, act, from.pid, gift.pattern);
    const bound = new Set([0, ...to.path, to.n]);
    const denies = rules.filter((rule) => !bound.has(rule.n) && touches(rule, gift)).map(({ id }) => id);
    if (denies.length > 0) throw leavesRule(act, from.pid, gift.pattern.text, denies);
  }

  private async binding(tx: ReadTx, { path, n }: Bound, now: number): Promise<RuleRecord[]> {
    const rules = await this.rules.binding(tx, [...path, n]);
    return rules.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  }
}

/** Throws CAPABILITY_DENIED when one of `rules` is on that resource. */
function refuse(rules: readonly RuleRecord[], asking: Asking, pid: Pid, right: Right, resource: string): void {
  const denies = against(rules, right, [parseRequest(resource)]);
  if (denies.length > 0) throw forbidden(asking, pid, right, resource, denies);
}

/** Refuses to hand on what a rule on the right `grant` touches. Throws CAPABILITY_DENIED. */
function refuseHandingOn(rules: readonly RuleRecord[], asking: Asking, from: Pid, pattern: Pattern): void {
  const denies = rules.filter((rule) => touches(rule, { pattern, rights: ['grant'] })).map(({ id }) => id);
  if (denies.length > 0) throw forbidden(asking, from, 'grant', pattern.text, denies);
}

function against(rules: readonly RuleRecord[], right: Right, names: readonly Request[]): RuleId[] {
  const mask = maskOfRights([right]);
  return rules
    .filter((rule) => (rule.rights & mask) !== 0 && names.some((name) => matches(storedPattern(rule.resource), name)))
    .map(({ id }) => id);
}

/** An object goes by its id and by its place in a namespace, so a rule on one kind may be about what the other names. */
function touches(rule: RuleRecord, { pattern, rights }: Gift): boolean {
  if ((rule.rights & maskOfRights(rights)) === 0) return false;
  const about = storedPattern(rule.resource);
  const areTwoNames = about.kind !== pattern.kind && isMemory(about) && isMemory(pattern);
  return areTwoNames || overlaps(about, pattern);
}

function isMemory({ kind }: Pattern): boolean {
  return kind === 'object' || kind === 'ns';
}

/** A process learns that there is a rule, and not which. */
function known(act: Asking, denies: readonly RuleId[]): { readonly denies?: RuleId[] } {
  return act.via === 'process' ? {} : { denies: [...denies] };
}

export function liftHint(denies: readonly RuleId[] | undefined): string {
  const [rule] = denies ?? [];
  if (rule === undefined) return 'A rule of the host forbids it, and only the host can lift that.';
  return `Lift the rule: capabilities.lift('${rule}').`;
}

function forbidden(act: Asking, pid: Pid, right: Right, resource: string, denies: readonly RuleId[]): CapabilityError {
  const shown = known(act, denies);
  return new CapabilityError('CAPABILITY_DENIED', `A rule forbids process ${pid} to ${right} ${resource}.`, {
    facts: { pid, right, resource, code: 'DENY_RULE', ...shown },
    hint: liftHint(shown.denies),
  });
}

function leavesRule(act: Act, pid: Pid, resource: string, denies: readonly RuleId[]): CapabilityError {
  const shown = known(act, denies);
  return new CapabilityError(
    'CAPABILITY_DENIED',
    `Process ${pid} is bound by a rule on ${resource} that does not bind the receiver.`,
    {
      facts: { pid, right: 'grant', resource, code: 'DENY_RULE', ...shown },
      hint: `Give it to a process born under ${pid}. ${liftHint(shown.denies)}`,
    },
  );
}
