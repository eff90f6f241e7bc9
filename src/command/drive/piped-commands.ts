import type { Readable, Writable } from 'node:stream';
import type { Pid } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';
import type { ProcessResult } from '../../kernel/process/process.js';

/** A program of the host's that is talked to through pipes, such as a server of tools. */
export interface PipedSpec {
  /** The name of its process. */
  readonly name: string;
  readonly argv: readonly string[];
  /** Absolute, or relative to the workspace; default: the workspace. */
  readonly cwd?: string;
  /** Added to the clean environment of commands. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Such a program while it runs. What it writes to stderr is in its error file. */
export interface PipedCommand {
  readonly pid: Pid;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when its process has ended, whoever ended it. */
  readonly ended: Promise<ProcessResult>;
}

/** Starts such programs: each is a root command process of the host, stopped, guarded and recovered like any other. */
export interface PipedCommands {
  /** Throws TOOL_FAILED when it cannot be started. */
  start(spec: PipedSpec): Promise<PipedCommand>;
  /** Stops it and everything that it has started, within 2 s. */
  stop(command: PipedCommand, reason: string): Promise<void>;
}
export const PipedCommands: Token<PipedCommands> = token('PipedCommands');
