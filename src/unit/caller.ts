import type { KernelError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import type { Act } from './act.js';
import type { AuditAction } from './actions.js';

/** The face that a call came through. The host's face is trusted; a process's face acts as that process. */
export type Caller = { readonly face: 'host' } | ProcessCaller;

export interface ProcessCaller {
  readonly face: 'process';
  readonly pid: Pid;
  /** Present when the call comes from a body that the executor runs. */
  readonly run?: RunHooks;
  /** The longest time that a call is held back because the process is paused; WAIT_TIMEOUT then. Absent: no limit. */
  readonly pausedMs?: number;
  /** The id of the record that its calls follow from: the intent of the tool call that makes them. */
  readonly cause?: string;
}

export const hostCaller: Caller = { face: 'host' };

/** One call of a syscall, with the facts that its audit record needs. */
export interface Call {
  readonly caller: Caller;
  /** The process that a host call acts for, or `host` for the host's own acts. The process face acts as itself. */
  readonly actor: Pid | 'host';
  readonly action: AuditAction;
  readonly target?: Pid;
  /** The process that the host acts for, where the actor of the record is the host. */
  readonly actsFor?: Pid;
  /** Default: a write unit acts, a read unit looks. */
  readonly kind?: CallKind;
  /** Aborts when the caller no longer waits: for the answer of a person, or for the end of a pause. */
  readonly signal?: AbortSignal | undefined;
  /** The caller's own time limit, which goes on while the process is paused. */
  readonly timeLimit?: TimeLimit | undefined;
}

/**
 * Of a paused process, a call that acts waits, and one that looks is answered. One that records something that has already
 * happened is held back by neither a pause nor a deadline.
 */
export type CallKind = 'act' | 'look' | 'record';

/** A time limit of a caller, in real time. */
export interface TimeLimit {
  /** As `performance.now()` counts. */
  readonly until: number;
  /** The error of the call when its time is over; `facts` say what it was held back by. */
  error(facts: JsonObject): KernelError;
}

/** The limit of a call that may take `timeoutMs` from now; undefined without a limit. */
export function timeLimitOf(timeoutMs: number | undefined, error: TimeLimit['error']): TimeLimit | undefined {
  return timeoutMs === undefined ? undefined : { until: performance.now() + timeoutMs, error };
}

export const bodyWaitKinds = ['child', 'message', 'signal', 'approval', 'question', 'timer'] as const;

/** The reason of a wait, as the process table shows it. */
export interface WaitReason {
  readonly kind: (typeof bodyWaitKinds)[number];
  /** For people: a pid, the name of a signal, the id of an approval or a question. */
  readonly what: string;
  /** The changes that wake it, each as `kind:id`. */
  readonly on: readonly string[];
  readonly deadline?: number;
}

/** The part of a process row that decides whether the process may act at this moment. */
export interface ActingProcess {
  readonly pid: Pid;
  readonly isPaused: boolean;
  /** Null where there is none, and for a process that is being stopped or has ended. */
  readonly deadlineAt: number | null;
}

/** Added to the calls of a process by the run of its body: a fence, a journal, and a slot that others use while it waits. */
export interface RunHooks {
  /** Whether the call only records something that has already happened. */
  readonly recordsOnly: boolean;
  /** The id of the record that the call follows from. */
  readonly cause?: string | undefined;
  /** First in a read unit. Throws LEASE_LOST when the run does not hold the process any more, PausedInterruption. */
  beforeRead(tx: ReadTx): Promise<ActingProcess>;
  /** First in a write unit. Throws as `beforeRead`. */
  beforeWrite(tx: WriteTx, act: Act): Promise<ActingProcess>;
  /** Last in a write unit: journals the answer in the same commit. */
  afterWrite(tx: WriteTx, act: Act, answer: unknown): Promise<void>;
  /** Runs `wait`, and lets other runs use the slot of this one meanwhile. */
  whileWaiting<T>(reason: WaitReason, wait: () => Promise<T>): Promise<T>;
}

/** Whether the call comes from a body that the executor runs. */
export function isBody(caller: Caller): boolean {
  return caller.face === 'process' && caller.run !== undefined;
}

/** Waits through the hooks of the caller's run, if it has one. */
export function waitAs<T>(caller: Caller, reason: WaitReason, wait: () => Promise<T>): Promise<T> {
  const run = caller.face === 'process' ? caller.run : undefined;
  return run === undefined ? wait() : run.whileWaiting(reason, wait);
}
