import { type Token, token } from '../../base/token.js';
import type { Caller } from '../../unit/caller.js';

export interface ReadOutputOptions {
  /** Default `stdout`. */
  readonly stream?: 'stdout' | 'stderr';
  /** In bytes, from the beginning. */
  readonly offset?: number;
  /** In bytes; default 64 KiB, at most 1 MiB. */
  readonly length?: number;
}

/** A part of what a command has written, cut at a character. */
export interface OutputPart {
  readonly text: string;
  /** The offset of what follows. */
  readonly next: number;
  readonly size: number;
  /** Whether the command has ended, so that no more comes. */
  readonly ended: boolean;
}

export interface WaitOutputOptions {
  readonly stream?: 'stdout' | 'stderr';
  /** Where the search begins, in bytes; what is there already is searched too. */
  readonly offset?: number;
  readonly timeoutMs?: number;
}

export interface OutputMatch {
  readonly matched: boolean;
  /** What has matched. */
  readonly text?: string;
  /** Behind the match, or where a further search can go on. */
  readonly next: number;
  readonly ended: boolean;
}

/** What commands have written. A process sees that of its own children; the host that of all. */
export interface CommandOutput {
  /** Throws NO_SUCH_PROCESS, NOT_A_CHILD, INVALID_TRANSITION for what is no command. */
  read(caller: Caller, pid: unknown, options: unknown): Promise<OutputPart>;
  /** Resolves when it matches, at the end of the command, and when the time is over. Throws as `read`. */
  wait(caller: Caller, pid: unknown, pattern: unknown, options: unknown): Promise<OutputMatch>;
}
export const CommandOutput: Token<CommandOutput> = token('CommandOutput');

/** The files that commands write to. */
export interface OutputPaths {
  /** `process` is the number of its row. */
  of(process: number): { readonly outputFile: string; readonly errorFile: string };
  /** After the row is gone. */
  remove(processes: readonly number[]): void;
}
export const OutputPaths: Token<OutputPaths> = token('OutputPlaces');
