import type { CapabilityId, Pid, RuleId } from '../../base/ids.js';
import type { Capability } from '../holding/capability.js';

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
  readonly pattern: string;
  readonly failed: string;
}

export interface Decision {
  /** `ask`: it is allowed once a person has approved it. */
  readonly effect: 'allow' | 'deny' | 'ask';
  readonly code: DecisionCode;
  /** The capability that allows it, or would; `kin` where the family tie is enough. */
  readonly capability?: CapabilityId | 'kin';
  readonly reason: string;
}

export interface Explanation {
  readonly effect: Decision['effect'];
  readonly code: DecisionCode;
  readonly pid: Pid;
  readonly right: string;
  readonly resource: string;
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
  readonly hint: string;
}
