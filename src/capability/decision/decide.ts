import type { Pid } from '../../base/ids.js';
import { canonicalJson, isObject, type JsonValue, sha256Hex } from '../../base/json.js';
import type { ConstraintEnv, Constraints } from '../constraint/atoms.js';
import { type Acceptance, accepts, constrainsEnvironment } from '../constraint/constraints.js';
import type { CapabilityStatus } from '../holding/capability.js';
import { byPreference, type CapabilityRecord } from '../holding/capability-record.js';
import type { HolderState } from '../holding/capability-repository.js';
import type { Request } from '../resource/resource.js';
import { maskOfRight, type Right } from '../resource/rights.js';
import { isInForce, type RuleEffect, type RuleRecord } from '../rule/rule.js';
import type { AuthorityGraph, GraphNode } from './authority-graph.js';
import type { DecisionCode, NearMiss } from './decision.js';
import type { Question } from './question.js';

/** The state of a process's authority that a question about it is decided by, all from one snapshot. */
export interface DecisionInput {
  /** Undefined: there is no such process. */
  readonly holder: HolderState | undefined;
  /** Of the rules that bind it, those whose pattern matches one of the names. */
  readonly rules: readonly RuleRecord[];
  /** Of all capabilities that it was ever given, dead or alive, those whose pattern matches all names. */
  readonly matching: readonly GraphNode[];
  /** Some of the others, where near misses are wanted. */
  readonly notMatching?: readonly CapabilityRecord[];
  /** Has everything in `matching` with all that it was derived from, and the process that `kinTargetOf` names. */
  readonly graph: AuthorityGraph;
}

export interface DecisionEnv extends ConstraintEnv {
  readonly now: number;
}

/** A decision as the kernel uses it, before it is put into words. */
export interface RawDecision {
  readonly code: DecisionCode;
  /** The capability that allows it, or would if a person approved it; undefined where kinship is enough. */
  readonly node: GraphNode | undefined;
  readonly nearest: readonly NearMiss[];
  readonly denies: readonly RuleRecord[];
  readonly asks: readonly RuleRecord[];
  readonly holder: HolderState | undefined;
  readonly graph: AuthorityGraph;
}

/**
 * The decision, by one order of precedence that no order of rows can change: a deny rule, nothing that matches,
 * arguments, a dead capability, an ask rule, allowed. Pure: the caller has collected the input.
 */
export function decide(question: Question, input: DecisionInput, env: DecisionEnv): RawDecision {
  if (input.holder?.live !== true) return rawDecision(input, 'PROCESS_ENDED');
  const denies = applicableRules('deny', input.rules, question, env.now);
  if (denies.length > 0) return rawDecision(input, 'DENY_RULE', undefined, none, denies);
  const decision = isKin(question, input) ? rawDecision(input, 'KIN') : decideByCapability(question, input, env);
  if (!allows(decision.code)) return decision;
  const { ownAsks = none } = question;
  const asks = [...applicableRules('ask', input.rules, question, env.now), ...ownAsks];
  return asks.length === 0 ? decision : rawDecision(input, 'ASK', decision.node, none, none, asks);
}

export function allows(code: DecisionCode): code is 'ALLOWED' | 'KIN' {
  return code === 'ALLOWED' || code === 'KIN';
}

/** The process that the request names, if a family tie can give the right; undefined otherwise. */
export function kinTargetOf(right: Right, { kind, segments }: Request): Pid | undefined {
  const isKinRight = right === 'wait' || right === 'signal' || right === 'send';
  return kind === 'process' && isKinRight ? segments.join('/') : undefined;
}

/** The SHA-256 of arguments, by which rules and approvals are bound to them. */
export function hashOfArgs(args: JsonValue): string {
  return sha256Hex(canonicalJson(args));
}

const none: readonly never[] = [];
const nearestMax = 5;

/** Written out, and not spread from parts: checks are made by the hundred thousand. */
function rawDecision(
  { holder, graph }: DecisionInput,
  code: DecisionCode,
  node?: GraphNode,
  nearest: readonly NearMiss[] = none,
  denies: readonly RuleRecord[] = none,
  asks: readonly RuleRecord[] = none,
): RawDecision {
  return { code, node, nearest, denies, asks, holder, graph };
}

/** The rules of one effect that are about this right and these arguments, and have not expired. */
export function applicableRules(
  effect: RuleEffect,
  rules: readonly RuleRecord[],
  { right, args }: Pick<Question, 'right' | 'args'>,
  now: number,
): readonly RuleRecord[] {
  if (rules.length === 0) return none;
  const mask = maskOfRight(right);
  return rules
    .filter((rule) => rule.effect === effect && (rule.rights & mask) !== 0)
    .filter((rule) => isInForce(rule, now))
    .filter(({ argsHash }) => argsHash === null || hasHash(args, argsHash));
}

function hasHash(args: JsonValue | undefined, hash: string): boolean {
  return args !== undefined && hashOfArgs(args) === hash;
}

/** A process needs no capability to wait for, signal and send to its children, and to send to its parent. */
function isKin({ pid, right, request, using }: Question, { holder, graph }: DecisionInput): boolean {
  const target = using === undefined ? kinTargetOf(right, request) : undefined;
  if (target === undefined) return false;
  return (right === 'send' && holder?.parent === target) || graph.holders.get(target)?.parent === pid;
}

/** The best of the capabilities that allow it, or why none does. */
function decideByCapability(question: Question, input: DecisionInput, env: DecisionEnv): RawDecision {
  let best: GraphNode | undefined;
  const misses: Miss[] = [];
  for (const node of question.isOutsideWorkspace === true ? [] : input.matching) {
    const status = statusFor(question, node, input.graph.statusOf(node, env.now));
    const failure = failureOf(question, node.record, status, env);
    if (failure !== undefined) misses.push({ ...failure, record: node.record });
    else if (node.record.id === question.continues) return rawDecision(input, 'ALLOWED', node);
    else if (best === undefined || byPreference(node.record, best.record) < 0) best = node;
  }
  if (best !== undefined) return rawDecision(input, 'ALLOWED', best);
  for (const record of input.notMatching ?? []) {
    misses.push({ code: 'NO_CAPABILITY', failed: 'resource', record });
  }
  if (misses.length === 0) return rawDecision(input, 'NO_CAPABILITY');
  misses.sort((a, b) => byNearness(question, a, b));
  return rawDecision(input, misses[0]?.code ?? 'NO_CAPABILITY', undefined, misses.slice(0, nearestMax).map(toNearMiss));
}

function statusFor({ continues }: Question, { record }: GraphNode, status: CapabilityStatus): CapabilityStatus {
  return status === 'spent' && record.id === continues ? 'live' : status;
}

/**
 * Why a capability with a matching pattern does not allow it; undefined when it does. A dead capability that would not
 * allow it if it were live counts as NO_CAPABILITY, because reviving it would not help.
 */
function failureOf(
  question: Question,
  { rights, constraints }: CapabilityRecord,
  status: CapabilityStatus,
  env: ConstraintEnv,
): Pick<Miss, 'code' | 'failed'> | undefined {
  const { right, args } = question;
  if ((rights & maskOfRight(right)) === 0) return { code: 'NO_CAPABILITY', failed: `right ${right}` };
  const acceptance =
    constraints === null || args === undefined ? unconstrained : acceptsAll(constraints, question, env);
  if (acceptance.ok) return status === 'live' ? undefined : { code: deadCodes[status], failed: status };
  const { path, reason, hint } = acceptance;
  // The hint gives the right spelling, where only the spelling is wrong.
  const failed = `${path}: ${reason}${hint === undefined ? '' : `. ${hint.replace(/\.$/, '')}`}`;
  return status === 'live' ? { code: 'CONSTRAINT', failed } : { code: 'NO_CAPABILITY', failed: `${status}, ${failed}` };
}

/** Whether the arguments are accepted, and also with the files that their paths lead to. */
function acceptsAll(
  constraints: Constraints,
  { request, args, realArgs, inheritedArgs }: Question,
  env: ConstraintEnv,
): Acceptance {
  if (request.kind === 'command' && hasMember(args, 'env') && !constrainsEnvironment(constraints))
    return { ok: false, path: 'env', reason: 'is not among the allowed arguments', hint: 'Leave this argument out.' };
  const acceptance = accepts(constraints, args, env, inheritedArgs);
  return acceptance.ok && realArgs !== undefined ? accepts(constraints, realArgs, env, inheritedArgs) : acceptance;
}

function hasMember(args: JsonValue | undefined, name: string): boolean {
  return args !== undefined && isObject(args) && Object.hasOwn(args, name);
}

const unconstrained = { ok: true } as const;

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

/** From the farthest to the nearest, which is also the precedence of the codes. */
const nearness: readonly DecisionCode[] = ['NO_CAPABILITY', 'REVOKED', 'SPENT', 'EXPIRED', 'CONSTRAINT'];

/** The nearest first: by code, then matching patterns, then the longest common start with the request, then preference. */
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
