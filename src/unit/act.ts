import { ProcessError } from '../base/errors.js';
import type { ApprovalId, CapabilityId, Pid } from '../base/ids.js';
import type { ReadTx, WriteTx } from '../base/store.js';

/** Which face a call came through. The host's own face is trusted; a process's face acts as that process. */
export type Caller = { readonly face: 'host' } | ProcessCaller;

export interface ProcessCaller {
  readonly face: 'process';
  readonly pid: Pid;
  readonly run?: RunHooks;
}

/** What a call waits for, as the process table shows it. */
export interface Blockage {
  readonly kind: 'child' | 'message' | 'signal' | 'approval' | 'timer';
  /** For people: a pid, the name of a signal, the id of an approval. */
  readonly what: string;
  /** What wakes it, each as `kind:id`. */
  readonly on: readonly string[];
  readonly deadline?: number;
}

/** What the run of a body adds to the calls of its process: a fence, a journal, and a place that others can use. */
export interface RunHooks {
  /** First in what is only read. Throws LEASE_LOST when the run does not hold the process any more, Parked. */
  look(tx: ReadTx): Promise<void>;
  /** First in every unit that writes. Throws as `look`. */
  enter(tx: WriteTx, act: Act): Promise<void>;
  /** Last in every unit that writes: keeps its answer, in its commit. */
  leave(tx: WriteTx, act: Act, answer: unknown): Promise<void>;
  /** Around what the call waits for. */
  blocked<T>(blockage: Blockage, wait: () => Promise<T>): Promise<T>;
}

/** Thrown by the hooks of a run whose process is paused: the unit is undone, and run again when that is over. */
export class Parked extends ProcessError {
  constructor(readonly over: () => Promise<void>) {
    super('PARKED', 'The process is paused.', { hint: 'The call goes on when the process is resumed.' });
  }
}

/** Waits through the hooks of the caller's run, if it has one. */
export function blocked<T>(caller: Caller, blockage: Blockage, wait: () => Promise<T>): Promise<T> {
  const run = runOf(caller);
  return run === undefined ? wait() : run.blocked(blockage, wait);
}

export function runOf(caller: Caller): RunHooks | undefined {
  return caller.face === 'process' ? caller.run : undefined;
}

export const hostFace: Caller = { face: 'host' };

/** How much of an answer the caller may know, before there is an act. */
export function viaOf({ face }: Caller): { readonly via: string } {
  return { via: face };
}

/** On whose authority something is done, through which face, and when. */
export interface Act {
  /** A pid, or `host`. */
  readonly actor: string;
  /** `process`, or `host:OPERATOR`. */
  readonly via: string;
  readonly at: number;
  /** By which the actor does it, where that is known for the whole call. */
  readonly capability?: CapabilityId | 'kin';
  /** By which a rule that asks was waived, where that is known for the whole call. */
  readonly approval?: ApprovalId;
}

/** What is being called, for the record: by whom, and upon what. */
export interface Call {
  readonly caller: Caller;
  /** The process that a host call acts for, or `host` for the host's own acts. The process face acts as itself. */
  readonly actor: Pid | 'host';
  readonly action: string;
  readonly target?: Pid;
  /** Aborts when nobody waits for the answer of a person any more. */
  readonly signal?: AbortSignal | undefined;
}
