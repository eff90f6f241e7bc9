import type { ApprovalId, CapabilityId, Pid, RuleId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { hashOfArgs } from '../decision/decide.js';
import type { AnswerUse } from '../decision/question.js';
import type { CapabilitySpec, CapabilityStatus } from '../holding/capability.js';
import type { HolderState } from '../holding/capability-repository.js';
import type { Right } from '../resource/rights.js';
import { earliestExpiry } from '../rule/rule.js';

export const approvalDecisions = ['once', 'always', 'deny', 'deny-always'] as const;
/** The answer of a person: for this call, or for calls like it from now on. */
export type ApprovalDecision = (typeof approvalDecisions)[number];

/** The extent of an answer: these arguments, any arguments within the capability, or that for all descendants too. */
export const approvalScopes = ['args', 'resource', 'tree'] as const;
/** The scope of an answer for always. */
export type ApprovalScope = (typeof approvalScopes)[number];

/** Whether a question waits for its answer, was answered, or is not needed any more. */
export type ApprovalStatus = 'pending' | 'answered' | 'void';

/** A call that waits for the answer of a person, or has got it. It waives an ask rule and gives no authority. */
export interface Approval {
  readonly id: ApprovalId;
  /** The process that asks. */
  readonly pid: Pid;
  /** The processes above it, nearest first. */
  readonly lineage: readonly Pid[];
  /** The right that the call needs. */
  readonly right: Right;
  /** The resource that the call uses. */
  readonly resource: string;
  /** The arguments of the call, as they are decided on. */
  readonly args: JsonValue;
  /** The capability that the call would use; null where it needs none. */
  readonly capability: CapabilityId | 'kin' | null;
  /** The capability, and those it was derived from, up to the root grant. */
  readonly chain: readonly CapabilityId[];
  /** The rules that ask. */
  readonly rules: readonly RuleId[];
  /** The capability that was requested, where the question is not about a call. */
  readonly request?: CapabilitySpec;
  /** `void`: its process, program or capability is gone, it has expired, or it is not needed any more. */
  readonly status: ApprovalStatus;
  /** The scopes that `always` and `deny-always` can have. */
  readonly scopes: readonly ApprovalScope[];
  readonly createdAt: number;
  /** When the question is over: the capability expires then, or the call is denied for want of an answer. */
  readonly expiresAt?: number;
  /** Present where an answer `once` may carry other arguments, which the call is made with then. */
  readonly editable?: true;
  /** The answer; absent while it is pending. */
  readonly decision?: ApprovalDecision;
  /** The scope of the answer. */
  readonly scope?: ApprovalScope;
  /** The name of the person who answered. */
  readonly by?: string;
  /** The time of the answer. */
  readonly answeredAt?: number;
  /** The arguments that the answer put in the place of those of the call, with both hashes. */
  readonly edited?: EditedArguments;
  /** The capability that an approved request has granted. */
  readonly granted?: CapabilityId;
}

/** Arguments of a call that a person has edited. */
export interface EditedArguments {
  /** As the person gave them. */
  readonly args: JsonValue;
  /** The SHA-256 of their canonical JSON. */
  readonly argsHash: string;
  /** The same of the arguments that were asked about; absent where those are not shown in full. */
  readonly originalHash?: string;
}

/** A question for a person, with everything that the approval is bound to. */
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
  /** How long it waits for an answer before the call is denied; null: without limit. */
  readonly expiresInMs: number | null;
  /** Whether the caller can put other arguments in place. */
  readonly isEditable: boolean;
  /** The answer that these arguments come from: it waives the rules that it was about. */
  readonly edit?: AnswerUse;
  /** Further things whose change wakes the waiting call. */
  readonly dependsOn: Dependencies;
}

interface Dependencies {
  /** The processes whose end or new program may change the answer. */
  readonly processes: readonly Pid[];
  /** When the first capability of the chain, or a rule that asks, expires. */
  readonly expiresAt: number | null;
}

/** One row of the table of approvals. */
export interface ApprovalRecord extends Omit<ApprovalRequest, 'holder' | 'dependsOn' | 'expiresInMs' | 'edit'> {
  readonly id: ApprovalId;
  readonly n: number;
  readonly generation: number;
  readonly lineage: readonly Pid[];
  readonly createdAt: number;
  readonly decision: ApprovalDecision | null;
  readonly scope: ApprovalScope | null;
  readonly answeredBy: string | null;
  readonly answeredAt: number | null;
  /** The capability that an approved request has granted. */
  readonly granted: CapabilityId | null;
  /** When the answer was used up, or the denial was reported. */
  readonly spentAt: number | null;
  /** When the call is denied, if nobody has answered. */
  readonly deniedAt: number | null;
  readonly editedArgs: JsonValue;
  /** The hash of the edited arguments; null where there are none. */
  readonly editedHash: string | null;
}

/** The facts that decide whether an approval is valid. */
export interface ValidityFacts {
  readonly holder: HolderState | undefined;
  /** The status of the capability that the call would use. */
  readonly capability: CapabilityStatus;
  /** Another answer lets the same call through already. */
  readonly isWaived: boolean;
  readonly now: number;
}

/** An approval is void when its process, its program or its capability is gone, it has expired, or it is not needed. */
export function isValid(record: ApprovalRecord, { holder, capability, isWaived, now }: ValidityFacts): boolean {
  if (holder === undefined || !holder.live || holder.generation !== record.generation || isWaived) return false;
  return capability === 'live' && !isOver(record.expiresAt, now) && !isOverdue(record, now);
}

/** Whether nobody has answered in time, so that the call is denied. */
export function isOverdue({ decision, deniedAt }: ApprovalRecord, now: number): boolean {
  return decision === null && isOver(deniedAt, now);
}

function isOver(at: number | null, now: number): boolean {
  return at !== null && at <= now;
}

/** Whether `record` is about this very call: same process, program, right, resource, arguments and capability. */
export function isSameCall(record: ApprovalRecord, request: ApprovalRequest): boolean {
  return isSameUse(record, request) && record.argsHash === request.argsHash && isRequest(record) === isRequest(request);
}

/** Whether an answer `always` to `record` also answers `request`. */
export function waives(record: ApprovalRecord, request: ApprovalRequest): boolean {
  if (isRequest(record) || isRequest(request)) return false;
  if (isSameUse(record, request)) return record.scope !== 'args' || record.argsHash === request.argsHash;
  if (record.scope !== 'tree' || record.right !== request.right || record.resource !== request.resource) return false;
  return request.holder.path.includes(record.n) && usesCapability(request, record.capability);
}

/** The approval as users see it. */
export function toApproval(record: ApprovalRecord, facts: ValidityFacts): Approval {
  const { id, pid, lineage, right, resource, args, capability, chain, rules, createdAt } = record;
  const { spec, decision, scope, answeredBy, answeredAt, granted, isEditable } = record;
  const expiresAt = earliestExpiry([record, { expiresAt: record.deniedAt }]);
  const open = isValid(record, facts) ? 'pending' : 'void';
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
    ...(isEditable ? { editable: true } : {}),
    createdAt,
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(decision === null ? {} : { decision }),
    ...(scope === null ? {} : { scope }),
    ...(answeredBy === null ? {} : { by: answeredBy }),
    ...(answeredAt === null ? {} : { answeredAt }),
    ...(record.editedHash === null ? {} : { edited: editedArguments(record, record.editedHash) }),
    ...(granted === null ? {} : { granted }),
  };
}

function editedArguments(record: ApprovalRecord, argsHash: string): EditedArguments {
  const { editedArgs: args } = record;
  return { args, argsHash, ...(isShownInFull(record) ? { originalHash: record.argsHash } : {}) };
}

/**
 * Whether the arguments are shown with everything that is in them. The hash of others is not told: who has it could guess the
 * secrets that are left out, and check the guess.
 */
export function isShownInFull({ args, argsHash, spec }: Pick<ApprovalRecord, 'args' | 'argsHash' | 'spec'>): boolean {
  return spec !== null || hashOfArgs(args) === argsHash;
}

/** The scopes that an answer can have; a request for a capability is answered whole, so it has none. */
export function scopesOf(record: ApprovalRecord): readonly ApprovalScope[] {
  return isRequest(record) ? [] : approvalScopes;
}

function isRequest({ spec }: { readonly spec: CapabilitySpec | null }): boolean {
  return spec !== null;
}

function isSameUse(record: ApprovalRecord, request: ApprovalRequest): boolean {
  return (
    record.pid === request.pid &&
    record.generation === request.holder.generation &&
    record.right === request.right &&
    record.resource === request.resource &&
    record.capability === request.capability
  );
}

/** Whether the call would use `capability`, or one that was derived from it. */
function usesCapability(request: ApprovalRequest, capability: ApprovalRecord['capability']): boolean {
  return request.capability === capability || request.chain.some((id) => id === capability);
}
