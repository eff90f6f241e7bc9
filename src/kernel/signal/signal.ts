import type { Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { OwnerKeys, ProcessKind } from '../process/process.js';

/** The signals that the kernel acts on. Each has an audit action `process.NAME`. */
export const controlSignals = ['pause', 'resume', 'cancel', 'kill'] as const;
/** A signal that the kernel acts on. */
type ControlSignal = (typeof controlSignals)[number];

/** A signal that the kernel only delivers to bodies that wait for it. */
export type UserSignal = `user.${string}`;

/** A signal that the kernel acts on, or `user.NAME`. */
export type SignalName = ControlSignal | UserSignal;

export function isUserSignal(signal: SignalName): signal is UserSignal {
  return signal.startsWith('user.');
}

/** Selectors that are combined with AND; an empty scope is refused. */
export interface SignalScope {
  /** A process and everything under it. */
  readonly tree?: Pid;
  /** The processes of the tree of this root. */
  readonly root?: Pid;
  /** The name, exactly. */
  readonly name?: string;
  /** All of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** `name`, or `name@version`. */
  readonly image?: string;
  readonly kind?: ProcessKind;
  /** The node that runs them. */
  readonly node?: string;
  readonly queue?: string;
  /** The external reference, exactly. */
  readonly externalRef?: string;
  /** All keys that are given match. */
  readonly owner?: OwnerKeys;
}

/** Options of a signal. */
export interface SignalOptions {
  /** Kept with the outcome and in the audit log. */
  readonly reason?: string;
  /** For user signals. */
  readonly payload?: JsonValue;
  /** The whole subtree; default true for pause, resume, cancel and kill. */
  readonly tree?: boolean;
  /** For cancel: how long the process may take to end before it is ended; default 5,000. */
  readonly graceMs?: number;
  /** Makes sending idempotent: the same id again gives the same report and changes nothing. */
  readonly id?: string;
}

/** A process that a signal did not reach, and why. */
export interface Refusal {
  readonly pid: Pid;
  /** The code of the error. */
  readonly code: string;
  readonly message: string;
  /** Of CAPABILITY_DENIED: `pausedBy`. */
  readonly facts?: JsonObject;
}

/** The effect of a signal on each process. */
export interface SignalReport {
  /** Each matched process stands in exactly one of the lists. */
  readonly matched: number;
  /** The processes that got it. */
  readonly delivered: Pid[];
  /** Live processes that are already as the signal would make them: paused ones for pause, others for resume. */
  readonly unchanged: Pid[];
  /** The processes that had ended. */
  readonly alreadyTerminal: Pid[];
  /** The processes that the sender may not signal. */
  readonly refused: Refusal[];
  /** Commands and adopted programs whose OS process is gone or another one: the row is changed, nothing is signalled. */
  readonly stale: Pid[];
  /**
   * Commands and adopted programs that another machine drives, or that this user may not signal: the order is in the
   * process table, for whoever drives them.
   */
  readonly unavailable: Pid[];
}
