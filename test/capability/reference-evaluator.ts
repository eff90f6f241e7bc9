import type { CapabilityId, Pid } from '../../src/base/ids.js';
import { canonicalJson, type JsonValue, sha256Hex } from '../../src/base/json.js';
import type { ApprovalRecord } from '../../src/capability/approval/approval.js';
import { accepts } from '../../src/capability/constraint/constraints.js';
import type { DecisionCode } from '../../src/capability/decision/decision.js';
import type { CapabilityRecord } from '../../src/capability/holding/capability-record.js';
import { type Right, rightsOfMask } from '../../src/capability/resource/rights.js';
import type { RuleRecord } from '../../src/capability/rule/rule.js';

/** Everything that there is, as plain lists in any order. */
export interface ReferenceWorld {
  readonly processes: readonly ReferenceProcess[];
  readonly capabilities: readonly CapabilityRecord[];
  readonly rules: readonly RuleRecord[];
  readonly approvals: readonly ApprovalRecord[];
  readonly now: number;
  /** Absolute path of the workspace, for arguments that are paths. */
  readonly workspace: string;
  /** Whether `fs:` names that differ only in case are one name. */
  readonly foldsCase: boolean;
}

export interface ReferenceProcess {
  readonly pid: Pid;
  readonly ended: boolean;
  readonly parent: Pid | null;
  readonly bornUnder: Pid | null;
  readonly generation: number;
  /** Capabilities of earlier generations are dead. */
  readonly authoritySince: number;
}

/** May `pid` do this? */
export interface ReferenceQuestion {
  readonly pid: Pid;
  readonly right: Right;
  /** The canonical text of what is asked for; for a file that links lead elsewhere, that of its real place as well. */
  readonly names: readonly string[];
  /** Links lead out of the workspace, where nothing allows anything. */
  readonly isOutside: boolean;
  /** Absent: whether there are arguments with which it may. */
  readonly args?: JsonValue;
}

export interface ReferenceDecision {
  readonly code: DecisionCode;
  readonly capability?: CapabilityId | 'kin';
}

/**
 * A second opinion on every decision, for tests: the rules of capabilities written down as directly as they can be, with
 * a look through everything for each question. It shares neither matching nor liveness nor order with what answers
 * users, and is not meant to be fast. Precedence: an ended process, a deny rule, nothing that matches, arguments, a dead
 * capability, an ask rule, allowed.
 */
export function referenceDecision(world: ReferenceWorld, question: ReferenceQuestion): ReferenceDecision {
  const asker = processOf(world, question.pid);
  if (asker === undefined || asker.ended) return { code: 'PROCESS_ENDED' };
  const rules = world.rules.filter((rule) => binds(world, rule, asker) && appliesTo(world, rule, question));
  if (rules.some(({ effect }) => effect === 'deny')) return { code: 'DENY_RULE' };
  const found = isKin(world, asker, question) ? kin : byCapability(world, question);
  if (found.capability === undefined || !rules.some(({ effect }) => effect === 'ask')) return found;
  if (world.approvals.some((approval) => waives(world, approval, asker, question, found.capability))) return found;
  return { code: 'ASK', capability: found.capability };
}

const kin: ReferenceDecision = { code: 'KIN', capability: 'kin' };

function processOf({ processes }: ReferenceWorld, pid: Pid | null): ReferenceProcess | undefined {
  return processes.find((process) => process.pid === pid);
}

/** The processes that it was born under, nearest first, whoever is its parent now. */
function bornUnder(world: ReferenceWorld, { bornUnder: above }: ReferenceProcess): ReferenceProcess[] {
  const process = processOf(world, above);
  return process === undefined ? [] : [process, ...bornUnder(world, process)];
}

/** A rule binds all, or one process and everything that was born under it. */
function binds(world: ReferenceWorld, rule: RuleRecord, asker: ReferenceProcess): boolean {
  return rule.pid === '*' || [asker, ...bornUnder(world, asker)].some(({ pid }) => pid === rule.pid);
}

/** A rule is about what goes by a name that it matches, whether that is the spelled or the real one. */
function appliesTo(world: ReferenceWorld, rule: RuleRecord, { right, names, args }: ReferenceQuestion): boolean {
  if (rule.expiresAt !== null && rule.expiresAt <= world.now) return false;
  if (!rightsOfMask(rule.rights).includes(right)) return false;
  if (rule.argsHash !== null && (args === undefined || hashOf(args) !== rule.argsHash)) return false;
  return names.some((name) => includesName(world, rule.resource, name));
}

function hashOf(args: JsonValue): string {
  return sha256Hex(canonicalJson(args));
}

/** Own children: wait, signal, send. Own parent: send. */
function isKin(world: ReferenceWorld, asker: ReferenceProcess, { right, names }: ReferenceQuestion): boolean {
  const other = names[0]?.startsWith('process:') ? names[0].slice('process:'.length) : undefined;
  if (other === undefined) return false;
  if (right === 'send' && asker.parent === other) return true;
  return ['wait', 'signal', 'send'].includes(right) && processOf(world, other)?.parent === asker.pid;
}

function byCapability(world: ReferenceWorld, question: ReferenceQuestion): ReferenceDecision {
  const { pid, right, names, isOutside, args } = question;
  if (isOutside) return { code: 'NO_CAPABILITY' };
  const judged = world.capabilities
    .filter(({ holder, rights }) => holder === pid && rightsOfMask(rights).includes(right))
    .filter(({ resource }) => names.every((name) => includesName(world, resource, name)))
    .map((capability) => ({
      capability,
      death: deathOf(world, capability),
      isAccepted: args === undefined || accepts(capability.constraints ?? undefined, args, world).ok,
    }));
  const [best] = judged.filter(({ death, isAccepted }) => death === undefined && isAccepted).sort(byPreference);
  if (best !== undefined) return { code: 'ALLOWED', capability: best.capability.id };
  if (judged.some(({ death }) => death === undefined)) return { code: 'CONSTRAINT' };
  const code = deaths.find((one) => judged.some(({ death, isAccepted }) => death === one && isAccepted));
  return { code: code ?? 'NO_CAPABILITY' };
}

/** Unlimited before finite uses, later expiry, smaller depth, smaller id. */
function byPreference({ capability: a }: JudgedCapability, { capability: b }: JudgedCapability): number {
  if ((a.uses === null) !== (b.uses === null)) return a.uses === null ? -1 : 1;
  const [untilA, untilB] = [a.expiresAt ?? Number.POSITIVE_INFINITY, b.expiresAt ?? Number.POSITIVE_INFINITY];
  if (untilA !== untilB) return untilA > untilB ? -1 : 1;
  if (a.depth !== b.depth) return a.depth < b.depth ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

type JudgedCapability = { readonly capability: CapabilityRecord };

/** In the order in which they go before each other. */
const deaths = ['EXPIRED', 'SPENT', 'REVOKED'] as const;

/**
 * What a capability died of; undefined for a live one. A revocation takes everything below it, whatever else has befallen
 * that; otherwise it is what is nearest. The end of a holder, or of its program, takes what it held.
 */
function deathOf(world: ReferenceWorld, capability: CapabilityRecord): (typeof deaths)[number] | undefined {
  const chain = chainOf(world, capability);
  if (chain.some(({ status }) => status === 'revoked')) return 'REVOKED';
  for (const { expiresAt, uses, holder: pid, own, generation } of chain) {
    if (expiresAt !== null && expiresAt <= world.now) return 'EXPIRED';
    if (uses === 0) return 'SPENT';
    const holder = processOf(world, pid);
    if (holder === undefined || holder.ended) return 'REVOKED';
    if (!own && generation < holder.authoritySince) return 'REVOKED';
  }
  return undefined;
}

/** Itself first, up to the root grant. */
function chainOf(world: ReferenceWorld, capability: CapabilityRecord): CapabilityRecord[] {
  const parent = world.capabilities.find(({ id }) => id === capability.parent);
  return parent === undefined ? [capability] : [capability, ...chainOf(world, parent)];
}

/** Whether a person's answer lets through what a rule asks about, by the capability that would allow it. */
function waives(
  world: ReferenceWorld,
  approval: ApprovalRecord,
  asker: ReferenceProcess,
  { right, names, args = {} }: ReferenceQuestion,
  by: CapabilityId | 'kin' | undefined,
): boolean {
  const { decision, scope } = approval;
  if (approval.spec !== null || approval.spentAt !== null || (decision !== 'once' && decision !== 'always'))
    return false;
  if (approval.right !== right || approval.resource !== names[0]) return false;
  if (approval.expiresAt !== null && approval.expiresAt <= world.now) return false;
  const asked = processOf(world, approval.pid);
  if (asked === undefined || asked.ended || asked.generation !== approval.generation) return false;
  if (asked.pid === asker.pid) {
    const isForAnyArgs = decision === 'always' && scope !== 'args';
    return approval.capability === by && (isForAnyArgs || approval.argsHash === hashOf(args));
  }
  const isForTree = decision === 'always' && scope === 'tree' && bornUnder(world, asker).includes(asked);
  const used = world.capabilities.find(({ id }) => id === by);
  const ids: (string | null | undefined)[] = used === undefined ? [by] : chainOf(world, used).map(({ id }) => id);
  return isForTree && ids.includes(approval.capability);
}

/** Whether the pattern, in its canonical text, includes the resource of that name. */
function includesName(world: ReferenceWorld, pattern: string, name: string): boolean {
  const [kind, names] = partsOf(world, name);
  const [ofKind, segments] = partsOf(world, pattern);
  if (kind !== ofKind) return false;
  const isPrivate = kind === 'ns' && names.length > 1 && names[0] === 'process';
  if (isPrivate && (segments[0] !== 'process' || segments[1] !== names[1])) return false;
  return segmentsInclude(segments, names);
}

/** The kind, and the names between the slashes; the workspace itself has none. */
function partsOf({ foldsCase }: ReferenceWorld, text: string): [string, string[]] {
  const colon = text.indexOf(':');
  const [kind, body] = [text.slice(0, colon), text.slice(colon + 1)];
  if (kind === 'fs' && body === '.') return [kind, []];
  return [kind, (kind === 'fs' && foldsCase ? body.toLowerCase() : body).split('/')];
}

function segmentsInclude([first, ...others]: readonly string[], [name, ...names]: readonly string[]): boolean {
  if (first === '**') return true;
  if (first === undefined || name === undefined) return first === name;
  // `*.host`: one or more labels before it.
  const isOne = first === '*' || first === name || (first.startsWith('*.') && name.endsWith(first.slice(1)));
  return isOne && segmentsInclude(others, names);
}
