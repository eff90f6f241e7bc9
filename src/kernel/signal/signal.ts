import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { OwnerKeys, ProcessKind } from '../process/process.js';

export type SignalName = 'pause' | 'resume' | 'cancel' | 'kill' | `user.${string}`;

/** Selectors that are combined with AND; an empty scope is refused. */
export interface SignalScope {
  readonly tree?: Pid;
  readonly root?: Pid;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** `name`, or `name@version`. */
  readonly image?: string;
  readonly kind?: ProcessKind;
  readonly node?: string;
  readonly owner?: OwnerKeys;
}

export interface SignalOptions {
  readonly reason?: string;
  /** For user signals. */
  readonly payload?: JsonValue;
  /** The whole subtree; default true for pause, resume, cancel and kill. */
  readonly tree?: boolean;
  readonly graceMs?: number;
  /** Makes sending idempotent: the same id again gives the same report and changes nothing. */
  readonly id?: string;
}

export interface Refusal {
  readonly pid: Pid;
  readonly code: string;
  readonly message: string;
}

export interface SignalReport {
  readonly matched: number;
  readonly delivered: Pid[];
  readonly alreadyTerminal: Pid[];
  readonly refused: Refusal[];
  /** Commands whose OS process could not be verified and was left alone. */
  readonly stale: Pid[];
}
