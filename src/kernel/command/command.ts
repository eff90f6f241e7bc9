import type { Pid } from '../../base/ids.js';
import type { OwnerKeys } from '../process/process.js';

/** What the environment of a command begins with: a few variables of the kernel's, all of them, or none. */
export type EnvMode = 'clean' | 'patch' | 'replace';

/** A program of the operating system, and how it is to be run. */
export interface CommandSpec {
  /**
   * The program and its arguments; no shell looks at them. A bare name is looked up on the kernel's PATH, one with a
   * slash is a file as seen from the working directory.
   */
  readonly argv: readonly string[];
  /** As seen from the process's own working directory; needs `read` on it. Default: that directory. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default `clean`: PATH, HOME, LANG, TMPDIR and TERM of the kernel, and the process's own environment, before `env`. */
  readonly envMode?: EnvMode;
  /** What it reads; absent: nothing. */
  readonly stdin?: string;
  /** When it is stopped, with the outcome `timed_out`. */
  readonly timeoutMs?: number;
  /** Answers with a handle at once; the end is a message in the mailbox. */
  readonly background?: boolean;
  /** It lives on without its kernel, and what it leaves running at its end is left alone. */
  readonly survive?: boolean;
  readonly owner?: OwnerKeys;
}

/** How a command has ended. */
export interface CommandResult {
  readonly pid: Pid;
  readonly exitCode: number | null;
  /** The signal that ended it, such as `SIGKILL`. */
  readonly signal: string | null;
  /** What it has written, or the head and the tail of it. */
  readonly stdout: string;
  readonly stderr: string;
  /** Whether something is left out of `stdout` or `stderr`; the files have all of it. */
  readonly truncated: boolean;
  readonly durationMs: number;
  readonly timedOut: boolean;
  readonly outputFile: string;
  readonly errorFile: string;
}

/** A command in the background. */
export interface CommandHandle {
  readonly pid: Pid;
}
