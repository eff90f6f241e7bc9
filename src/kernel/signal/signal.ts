import type { Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { OwnerKeys, ProcessKind } from '../process/process.js';

/** The signals that the kernel acts on. Each has an audit action `process.NAME`. */
export const controlSignals = ['pause', 'resume', 'cancel', 'kill'] as const;
type ControlSignal = (typeof controlSignals)[number];

/** A signal that the kernel only delivers to bodies that wait for it. */
export type UserSignal = `user.${string}`;

export type SignalName = ControlSignal | UserSignal;

export function isUserSignal(signal: SignalName): signal is UserSignal {
  return signal.startsWith('user.');
}

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
  readonly queue?: string;
  readonly externalRef?: string;
  /** All keys that are given match. */
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
  /** Of CAPABILITY_DENIED: `pausedBy`. */
  readonly facts?: JsonObject;
}

export interface SignalReport {
  /** Each matched process stands in exactly one of the lists. */
  readonly matched: number;
  readonly delivered: Pid[];
  /** Live processes that are already as the signal would make them: paused ones for pause, others for resume. */
  readonly unchanged: Pid[];
  readonly alreadyTerminal: Pid[];
  readonly refused: Refusal[];
  /** Commands and adopted programs whose OS process is gone or another one: the row is changed, nothing is signalled. */
  readonly stale: Pid[];
  /**
   * Commands and adopted programs that another machine drives, or that this user may not signal: the order is in the
   * process table, for whoever drives them.
   */
  readonly unavailable: Pid[];
}
