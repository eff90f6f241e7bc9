import type { ApprovalId, CapabilityId, Pid, RuleId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { CapabilitySpec, CapabilityStatus } from '../holding/capability.js';
import type { HolderState } from '../holding/capability-repository.js';
import type { Right } from '../resource/rights.js';

export const approvalDecisions = ['once', 'always', 'deny', 'deny-always'] as const;
export type ApprovalDecision = (typeof approvalDecisions)[number];

/** How far an answer goes: these arguments, any arguments within the capability, or that and the descendants too. */
export const approvalScopes = ['args', 'resource', 'tree'] as const;
export type ApprovalScope = (typeof approvalScopes)[number];

export type ApprovalStatus = 'pending' | 'answered' | 'void';

/** A call that waits for the answer of a person, or has got it. It waives an ask rule and gives no authority. */
export interface Approval {
  readonly id: ApprovalId;
  /** Who asks. */
  readonly pid: Pid;
  /** The processes above it, nearest first. */
  readonly lineage: readonly Pid[];
  readonly right: Right;
  readonly resource: string;
  readonly args: JsonValue;
  /** By which it would be done; null where nothing is needed but the answer. */
  readonly capability: CapabilityId | 'kin' | null;
  /** The capability, and those it was derived from, up to the root grant. */
  readonly chain: readonly CapabilityId[];
  /** The rules that ask. */
  readonly rules: readonly RuleId[];
  /** What was requested, where it is not the use of something. */
  readonly request?: CapabilitySpec;
  /** `void`: what it rests on is over (the process, its program, the capability, the time), or it is not needed any more. */
  readonly status: ApprovalStatus;
  /** What `always` and `deny-always` can be for. */
  readonly scopes: readonly ApprovalScope[];
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly decision?: ApprovalDecision;
  readonly scope?: ApprovalScope;
  readonly by?: string;
  readonly answeredAt?: number;
  /** What an approved request has given. */
  readonly granted?: CapabilityId;
}

/** What a rule asks about: everything that an approval is bound to. */
export interface ApprovalRequest {
  readonly pid: Pid;
  readonly holder: Pick<HolderState, 'n' | 'path' | 'generation'>;
  readonly right: Right;
  /** A resource, or the pattern that is to be handed on or was requested. */
  readonly resource: string;
  readonly args: JsonValue;
  /** The SHA-256 of the arguments, or of what is requested. */
  readonly argsHash: string;
  readonly capability: CapabilityId | 'kin' | null;
  readonly chain: readonly CapabilityId[];
  /** When the capability, or one above it, expires. */
  readonly expiresAt: number | null;
  readonly rules: readonly RuleId[];
  readonly spec: CapabilitySpec | null;
  /** What else a call that waits has to look out for. */
  readonly dependsOn: Dependencies;
}

export interface Dependencies {
  /** The processes whose end or new program may change the answer. */
  readonly on: readonly Pid[];
  /** When something that it rests on, or a rule that asks, expires. */
  readonly until: number | null;
}

/** One row of the table of approvals. */
export interface ApprovalRecord extends Omit<ApprovalRequest, 'holder' | 'dependsOn'> {
  readonly id: ApprovalId;
  readonly n: number;
  readonly generation: number;
  readonly lineage: readonly Pid[];
  readonly createdAt: number;
  readonly decision: ApprovalDecision | null;
  readonly scope: ApprovalScope | null;
  readonly answeredBy: string | null;
  readonly answeredAt: number | null;
  /** What an approved request has given. */
  readonly granted: CapabilityId | null;
  /** When it was used up, or a refusal was told. */
  readonly spentAt: number | null;
}

/** What decides whether an approval still stands. */
export interface ValidityFacts {
  readonly holder: HolderState | undefined;
  /** Of the capability that it rests on. */
  readonly capability: CapabilityStatus;
  /** Another answer lets the same call through already. */
  readonly isWaived: boolean;
  readonly now: number;
}

/** Bound to the process, its program and the capability: without any of them it is void, and when it is not needed. */
export function isValid(record: ApprovalRecord, { holder, capability, isWaived, now }: ValidityFacts): boolean {
  if (holder === undefined || !holder.live || holder.generation !== record.generation || isWaived) return false;
  return capability === 'live' && (record.expiresAt === null || now < record.expiresAt);
}

/** Whether `record` is about this very call: the process, its program, the right, the resource, the arguments, by the same capability. */
export function isSameCall(record: ApprovalRecord, ask: ApprovalRequest): boolean {
  return isSameUse(record, ask) && record.argsHash === ask.argsHash && isRequest(record) === isRequest(ask);
}

/** Whether an answer `always` to `record` is also one to `ask`. */
export function waives(record: ApprovalRecord, ask: ApprovalRequest): boolean {
  if (isRequest(record) || isRequest(ask)) return false;
  if (isSameUse(record, ask)) return record.scope !== 'args' || record.argsHash === ask.argsHash;
  if (record.scope !== 'tree' || record.right !== ask.right || record.resource !== ask.resource) return false;
  return ask.holder.path.includes(record.n) && restsOn(ask, record.capability);
}

/** As users see it. */
export function toApproval(record: ApprovalRecord, footing: ValidityFacts): Approval {
  const { id, pid, lineage, right, resource, args, capability, chain, rules, createdAt } = record;
  const { spec, expiresAt, decision, scope, answeredBy, answeredAt, granted } = record;
  const open = isValid(record, footing) ? 'pending' : 'void';
  return {
    id,
    pid,
    lineage,
    right,
    resource,
    args,
    capability,
    chain,
    rules,
    ...(spec === null ? {} : { request: spec }),
    status: decision === null ? open : 'answered',
    scopes: scopesOf(record),
    createdAt,
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(decision === null ? {} : { decision }),
    ...(scope === null ? {} : { scope }),
    ...(answeredBy === null ? {} : { by: answeredBy }),
    ...(answeredAt === null ? {} : { answeredAt }),
    ...(granted === null ? {} : { granted }),
  };
}

/** A request is answered whole, so it has none. */
export function scopesOf(record: ApprovalRecord): readonly ApprovalScope[] {
  return isRequest(record) ? [] : approvalScopes;
}

function isRequest({ spec }: { readonly spec: CapabilitySpec | null }): boolean {
  return spec !== null;
}

function isSameUse(record: ApprovalRecord, ask: ApprovalRequest): boolean {
  return (
    record.pid === ask.pid &&
    record.generation === ask.holder.generation &&
    record.right === ask.right &&
    record.resource === ask.resource &&
    record.capability === ask.capability
  );
}

/** Whether what is used is `capability`, or was derived from it. */
function restsOn(ask: ApprovalRequest, capability: ApprovalRecord['capability']): boolean {
  return ask.capability === capability || ask.chain.some((id) => id === capability);
}
