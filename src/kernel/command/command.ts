import type { Pid } from '../../base/ids.js';
import type { OwnerKeys } from '../process/process.js';

/** The variables of the kernel that a command starts with: a few, all, or none. */
export type EnvMode = 'clean' | 'patch' | 'replace';

/** The time limit that the tool `command.run` gives to commands. Without another one, no decision depends on it. */
export const commandTimeoutMsDefault = 120_000;

/** The value of a variable that is looked up when a program is started, by `secrets` of the kernel that starts it. */
export type SecretReference = {
  /** Whoever gives the variable needs `read` on `secret:NAME`. */
  readonly secret: string;
};

/** Variables by name: texts, and references to secrets, which are stored and decided on as references. */
export type Environment = Readonly<Record<string, string | SecretReference>>;

/** A program of the operating system, and how it is to be run. */
export interface CommandSpec {
  /**
   * The program and its arguments; no shell interprets them. A bare name is looked up on the kernel's PATH, one with a
   * slash is a file relative to the working directory.
   */
  readonly argv: readonly string[];
  /** Relative to the process's own working directory, or absolute in the workspace; needs `read` on it. Default: that directory. */
  readonly cwd?: string;
  /** Variables for the command, besides those of `envMode`. */
  readonly env?: Environment;
  /**
   * Default `clean`: PATH, HOME, LANG, TMPDIR and TERM of the kernel, and the process's own environment, before `env`.
   * `patch`, which begins with all variables of the kernel, needs `read` on `secret:**`.
   */
  readonly envMode?: EnvMode;
  /** Absent: empty. */
  readonly stdin?: string;
  /** It is stopped after this time, with the outcome `timed_out`. */
  readonly timeoutMs?: number;
  /** The call answers with a handle at once; the end of the command is a message in the mailbox. */
  readonly background?: boolean;
  /** It keeps running when its kernel ends, and OS processes that it leaves behind are not ended. */
  readonly survive?: boolean;
  /** What the process of the command belongs to in the application. */
  readonly owner?: OwnerKeys;
}

/** The end of a command. */
export interface CommandResult {
  /** The process of the command. */
  readonly pid: Pid;
  /** Null where a signal ended it. */
  readonly exitCode: number | null;
  /** The signal that ended it, such as `SIGKILL`. */
  readonly signal: string | null;
  /** Its output, or the head and the tail of it. */
  readonly stdout: string;
  /** Its error output, or the head and the tail of it. */
  readonly stderr: string;
  /** Whether something is left out of `stdout` or `stderr`; the files have all of it. */
  readonly truncated: boolean;
  /** From its start to its end. */
  readonly durationMs: number;
  /** Whether it was stopped because its time was over. */
  readonly timedOut: boolean;
  /** The file with all of its output. */
  readonly outputFile: string;
  /** The file with all of its error output. */
  readonly errorFile: string;
}

/** A command in the background. */
export interface CommandHandle {
  /** The process of the command. */
  readonly pid: Pid;
}
