import type { Pid } from '../base/ids.js';
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
}

export const hostCaller: Caller = { face: 'host' };

/** One call of a syscall, with the facts that its audit record needs. */
export interface Call {
  readonly caller: Caller;
  /** The process that a host call acts for, or `host` for the host's own acts. The process face acts as itself. */
  readonly actor: Pid | 'host';
  readonly action: AuditAction;
  readonly target?: Pid;
  /** Aborts when the caller no longer waits for the answer of a person. */
  readonly signal?: AbortSignal | undefined;
}

/** The reason of a wait, as the process table shows it. */
export interface WaitReason {
  readonly kind: 'child' | 'message' | 'signal' | 'approval' | 'timer';
  /** For people: a pid, the name of a signal, the id of an approval. */
  readonly what: string;
  /** The changes that wake it, each as `kind:id`. */
  readonly on: readonly string[];
  readonly deadline?: number;
}

/** Added to the calls of a process by the run of its body: a fence, a journal, and a slot that others use while it waits. */
export interface RunHooks {
  /** First in a read unit. Throws LEASE_LOST when the run does not hold the process any more, PausedInterruption. */
  beforeRead(tx: ReadTx): Promise<void>;
  /** First in a write unit. Throws as `beforeRead`. */
  beforeWrite(tx: WriteTx, act: Act): Promise<void>;
  /** Last in a write unit: journals the answer in the same commit. */
  afterWrite(tx: WriteTx, act: Act, answer: unknown): Promise<void>;
  /** Runs `wait`, and lets other runs use the slot of this one meanwhile. */
  whileWaiting<T>(reason: WaitReason, wait: () => Promise<T>): Promise<T>;
}

/** Waits through the hooks of the caller's run, if it has one. */
export function waitAs<T>(caller: Caller, reason: WaitReason, wait: () => Promise<T>): Promise<T> {
  const run = caller.face === 'process' ? caller.run : undefined;
  return run === undefined ? wait() : run.whileWaiting(reason, wait);
}
