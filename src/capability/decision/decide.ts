import { canonicalJson, sha256Hex } from '../../base/canonical.js';
import type { JsonValue } from '../../base/json.js';
import type { ConstraintEnv } from '../constraint/atoms.js';
import { accepts } from '../constraint/constraints.js';
import type { CapabilityStatus } from '../holding/capability.js';
import { byPreference, type CapabilityRecord } from '../holding/capability-record.js';
import { maskOfRight } from '../resource/rights.js';
import { isOn, type RuleEffect, type RuleRecord } from '../rule/rule.js';
import type { AuthorityGraph, GraphNode } from './authority-graph.js';
import { allows, type DecisionCode, type NearMiss } from './decision.js';
import type { Question } from './question.js';

/** What is known of a process's authority when a question about it is decided, all from one state. */
export interface Evidence {
  readonly isLive: boolean;
  /** Of the rules that bind it, those whose pattern matches one of the names. */
  readonly rules: readonly RuleRecord[];
  readonly isKin: boolean;
  /** Of all that it was ever given, those whose pattern matches all names. */
  readonly held: readonly GraphNode[];
  /** Some of the others, where near misses are wanted. */
  readonly others?: readonly CapabilityRecord[];
  readonly graph: AuthorityGraph;
}

export interface Circumstances extends ConstraintEnv {
  readonly now: number;
}

export interface RawDecision {
  readonly code: DecisionCode;
  /** By which it is allowed, or would be if a person approved it; undefined where kinship is enough. */
  readonly slot: GraphNode | undefined;
  readonly nearest: readonly NearMiss[];
  readonly denies: readonly RuleRecord[];
  readonly asks: readonly RuleRecord[];
}

/**
 * The decision, by one order of precedence that no order of rows can change: a deny rule, nothing that matches,
 * arguments, a dead capability, an ask rule, allowed. Pure; whoever asks has collected the evidence.
 */
export function decide(question: Question, evidence: Evidence, circumstances: Circumstances): RawDecision {
  if (!evidence.isLive) return verdict('PROCESS_ENDED');
  const denies = applying('deny', evidence.rules, question, circumstances.now);
  if (denies.length > 0) return verdict('DENY_RULE', undefined, none, denies);
  const found = evidence.isKin ? verdict('KIN') : held(question, evidence, circumstances);
  if (!allows(found.code)) return found;
  const asks = applying('ask', evidence.rules, question, circumstances.now);
  return asks.length === 0 ? found : verdict('ASK', found.slot, none, none, asks);
}

/** The SHA-256 of arguments, by which rules and approvals are bound to them. */
export function hashOfArgs(args: JsonValue): string {
  return sha256Hex(canonicalJson(args));
}

const none: readonly never[] = [];
const nearestMax = 5;

/** Written out, and not spread from parts: checks are made by the hundred thousand. */
function verdict(
  code: DecisionCode,
  slot?: GraphNode,
  nearest: readonly NearMiss[] = none,
  denies: readonly RuleRecord[] = none,
  asks: readonly RuleRecord[] = none,
): RawDecision {
  return { code, slot, nearest, denies, asks };
}

/** The rules of one effect that are about this right and these arguments, and have not expired. */
export function applying(
  effect: RuleEffect,
  rules: readonly RuleRecord[],
  { right, args }: Pick<Question, 'right' | 'args'>,
  now: number,
): readonly RuleRecord[] {
  if (rules.length === 0) return none;
  const mask = maskOfRight(right);
  return rules
    .filter((rule) => rule.effect === effect && (rule.rights & mask) !== 0)
    .filter((rule) => isOn(rule, now))
    .filter(({ argsHash }) => argsHash === null || hasHash(args, argsHash));
}

function hasHash(args: JsonValue | undefined, hash: string): boolean {
  return args !== undefined && hashOfArgs(args) === hash;
}

/** The best of the capabilities that allow it, or why none does. */
function held(question: Question, evidence: Evidence, circumstances: Circumstances): RawDecision {
  let best: GraphNode | undefined;
  const misses: Miss[] = [];
  for (const slot of question.isOutside === true ? [] : evidence.held) {
    const status = evidence.graph.status(slot, circumstances.now);
    const failure = failureOf(question, slot.record, status, circumstances);
    if (failure !== undefined) misses.push({ ...failure, record: slot.record });
    else if (best === undefined || byPreference(slot.record, best.record) < 0) best = slot;
  }
  if (best !== undefined) return verdict('ALLOWED', best);
  for (const record of evidence.others ?? []) {
    misses.push({ code: 'NO_CAPABILITY', failed: 'resource', record });
  }
  if (misses.length === 0) return verdict('NO_CAPABILITY');
  misses.sort((a, b) => byNearness(question, a, b));
  return verdict(misses[0]?.code ?? 'NO_CAPABILITY', undefined, misses.slice(0, nearestMax).map(toNearMiss));
}

/** Why a capability that matches does not do. What is dead and would not do if it lived is not what is missing. */
function failureOf(
  { right, args }: Question,
  { rights, constraints }: CapabilityRecord,
  status: CapabilityStatus,
  env: ConstraintEnv,
): Pick<Miss, 'code' | 'failed'> | undefined {
  if ((rights & maskOfRight(right)) === 0) return { code: 'NO_CAPABILITY', failed: `right ${right}` };
  const acceptance = constraints === null || args === undefined ? accepted : accepts(constraints, args, env);
  if (acceptance.ok) return status === 'live' ? undefined : { code: deadCodes[status], failed: status };
  const { path, reason, hint } = acceptance;
  // With the right spelling, where it is only that.
  const failed = `${path}: ${reason}${hint === undefined ? '' : `. ${hint.replace(/\.$/, '')}`}`;
  return status === 'live' ? { code: 'CONSTRAINT', failed } : { code: 'NO_CAPABILITY', failed: `${status}, ${failed}` };
}

const accepted = { ok: true } as const;

const deadCodes: Record<Exclude<CapabilityStatus, 'live'>, DecisionCode> = {
  expired: 'EXPIRED',
  spent: 'SPENT',
  revoked: 'REVOKED',
  ended: 'REVOKED',
};

interface Miss {
  readonly code: DecisionCode;
  readonly failed: string;
  readonly record: CapabilityRecord;
}

/** From the farthest to the nearest, which is also how the codes go before each other. */
const nearness: readonly DecisionCode[] = ['NO_CAPABILITY', 'REVOKED', 'SPENT', 'EXPIRED', 'CONSTRAINT'];

/** The nearest first: by code, then what matches, then what begins as the request does, then by preference. */
function byNearness({ request }: Question, a: Miss, b: Miss): number {
  return (
    nearness.indexOf(b.code) - nearness.indexOf(a.code) ||
    Number(a.failed === 'resource') - Number(b.failed === 'resource') ||
    sharedStart(b.record.resource, request.text) - sharedStart(a.record.resource, request.text) ||
    byPreference(a.record, b.record)
  );
}

function sharedStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

function toNearMiss({ record, failed }: Miss): NearMiss {
  return { capability: record.id, pattern: record.resource, failed };
}
