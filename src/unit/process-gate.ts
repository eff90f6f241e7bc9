import type { KernelError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import type { ReadTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import type { ActingProcess, Call, ProcessCaller } from './caller.js';

/** Holds calls of paused processes back, and stops processes whose deadline has passed. */
export interface ProcessGate {
  /** Undefined for a process that does not exist: the call itself refuses that. */
  find(tx: ReadTx, pid: Pid): Promise<ActingProcess | undefined>;
  /** Throws NO_SUCH_PROCESS, PROCESS_TERMINATED. */
  findLive(tx: ReadTx, pid: Pid): Promise<ActingProcess>;
  /**
   * Resolves when the process is resumed, or when its deadline has passed. Throws CANCELLED or PROCESS_TERMINATED when it is
   * stopped meanwhile, CANCELLED when the caller gives up, and the error of the call's time limit.
   */
  waitUntilResumed(caller: ProcessCaller, call: Call): Promise<void>;
  /** Stops a process whose deadline has passed, and everything under it, in a unit of its own. Gives the refusal CANCELLED. */
  stopExpired(pid: Pid): Promise<KernelError>;
}
export const ProcessGate: Token<ProcessGate> = token('ProcessGate');
