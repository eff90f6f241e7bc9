import type { Pid } from '../../base/ids.js';
import type { OwnerKeys } from '../process/process.js';

/** A program of the operating system that somebody else has started and that becomes a process. */
export interface AdoptSpec {
  /** Its pid on the operating system. */
  readonly osPid: number;
  /** Signals go to this process group, if `osPid` leads it; absent: to the process alone. */
  readonly groupPid?: number;
  /** When it was started, in milliseconds; refused if the system says otherwise by more than 2 s. */
  readonly startedAt?: number;
  /** The program and its arguments, for people; stored without what can be told to be a secret. */
  readonly command?: string;
  /** The arguments of the program, for people. */
  readonly args?: readonly string[];
  /** Its working directory, for people. */
  readonly cwd?: string;
  /** Default: none, so that it is a root. */
  readonly parent?: Pid;
  /** What the process belongs to in the application. */
  readonly owner?: OwnerKeys;
  /** A name for people. */
  readonly name?: string;
  /** It is stopped after this time. */
  readonly deadlineMs?: number;
  /** Called instead of the first signal of a stop, while the kernel that adopted it lives. If it fails, the signal is sent. */
  readonly interrupt?: () => void | Promise<void>;
}

/** New facts about an adopted program; those not named stay. */
export interface AdoptedCheckpoint extends Pick<AdoptSpec, 'owner' | 'command' | 'args' | 'cwd'> {}

/** The end of an adopted program: `error`, or an exit code, or neither if it has simply ended. */
export interface AdoptedEnd {
  /** The exit code of the program. */
  readonly exitCode?: number;
  /** Why it failed. */
  readonly error?: string;
}

/** The handle of an adopted program. */
export interface AdoptedProcess {
  /** The process that stands for the program. */
  readonly pid: Pid;
  /** Stores new facts about the program. Throws PROCESS_TERMINATED. */
  checkpoint(checkpoint: AdoptedCheckpoint): Promise<void>;
  /** Throws PROCESS_TERMINATED when it has ended, or its end was found already. */
  complete(end?: AdoptedEnd): Promise<void>;
}
