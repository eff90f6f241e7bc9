import type { CapabilityId, Pid, RuleId } from '../../base/ids.js';
import type { Capability } from '../holding/capability.js';

/** The reason of a decision. The codes are explained in docs/errors.md#codes-of-decisions. */
export type DecisionCode =
  | 'ALLOWED'
  | 'KIN'
  | 'ASK'
  | 'DENY_RULE'
  | 'NO_CAPABILITY'
  | 'CONSTRAINT'
  | 'EXPIRED'
  | 'SPENT'
  | 'REVOKED'
  | 'PROCESS_ENDED'
  | 'BAD_REQUEST';

/** A capability that nearly allows it, and the reason why it does not. */
export interface NearMiss {
  readonly capability: CapabilityId;
  /** The resources that it is for. */
  readonly pattern: string;
  /** Why it does not allow the request. */
  readonly failed: string;
}

/** Whether a process may use a right on a resource, and why. */
export interface Decision {
  /** `ask`: it is allowed once a person has approved it. */
  readonly effect: 'allow' | 'deny' | 'ask';
  /** The reason, as a code. */
  readonly code: DecisionCode;
  /** The capability that allows it, or would; `kin` where the family tie is enough. */
  readonly capability?: CapabilityId | 'kin';
  /** The reason in words. */
  readonly reason: string;
}

/** A decision with the capabilities and rules that led to it. */
export interface Explanation {
  /** As in `Decision`. */
  readonly effect: Decision['effect'];
  /** The reason, as a code. */
  readonly code: DecisionCode;
  readonly pid: Pid;
  readonly right: string;
  readonly resource: string;
  /** The capability that allows it, or would; `kin` where being parent or child is enough. */
  readonly capability?: CapabilityId | 'kin';
  /** The deciding capability first, up to the root grant; on a process's face, those that it holds itself. */
  readonly chain?: readonly Capability[];
  /** Capabilities on the same kind of resource that nearly allow it, the nearest first. */
  readonly nearest: readonly NearMiss[];
  /** The rules that forbid it; empty on a process's face, which learns only that there is one. */
  readonly denies: readonly RuleId[];
  /** The rules that want a person to be asked; empty on a process's face. */
  readonly asks: readonly RuleId[];
  /** The number of the last event that the decision knew of. */
  readonly generation: number;
  /** Advice on how to get it allowed. */
  readonly hint: string;
}
