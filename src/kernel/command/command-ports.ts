import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { type Token, token } from '../../base/token.js';
import type { Question } from '../../capability/decision/question.js';
import type { Caller, ProcessCaller } from '../../unit/caller.js';
import type { ImageFacts } from '../process/images.js';
import type { CommandResult, Environment } from './command.js';
import type { HeldCommand } from './command-repository.js';

/* Ports that the layer of OS commands implements. */

/** The command of a process to be: the authority that it needs, and the fields that are stored. */
export interface CommandPlan {
  readonly resource: string;
  /** Redacted and bounded. */
  readonly line: string;
  /** The hash of the arguments that are decided on. */
  readonly argsHash: string;
  /** The authority that the process which runs it needs; absent for the host, which may run everything. */
  readonly question?: Question;
  /** The authority that the same process needs for secrets in the environment. */
  readonly secretQuestions: readonly Question[];
  readonly timeoutMs?: number;
  readonly background: boolean;
  readonly survive: boolean;
}

/** What the command of an image takes over from its process. */
export interface CommandSurroundings {
  /** The variables that its process and the parent of it were spawned with. */
  readonly inherited: Environment;
  /** The working directory of its process, which it runs in unless the image names another. */
  readonly cwd: string;
}

/** Plans the commands of command images. */
export interface CommandPlans {
  /**
   * `runner` is the process that needs the authority; null for the host. Throws INVALID_INPUT.
   */
  planImage(image: ImageFacts, args: JsonValue, runner: Pid | null, surroundings: CommandSurroundings): CommandPlan;
}
export const CommandPlans: Token<CommandPlans> = token('CommandPlans');

/** Where the values of secrets come from. */
export interface SecretSource {
  /** Gives the value of a secret, undefined where there is none; absent where the kernel has no secrets. */
  readonly lookUp?: (name: string) => string | undefined | Promise<string | undefined>;
}
export const SecretSource: Token<SecretSource> = token('SecretSource');

/** Runs programs of the operating system as processes. */
export interface CommandRuns {
  /**
   * Creates a child of the calling process that is a command, and starts it; the pid is the answer of the unit that
   * creates it. A command in the background has been started when this resolves. Throws INVALID_INPUT, INVALID_PATH,
   * CAPABILITY_DENIED, BUDGET_EXCEEDED, TREE_STOPPING.
   */
  begin(caller: ProcessCaller, spec: unknown): Promise<Pid>;
  /** The result of an ended command. Throws TOOL_FAILED where it was never started, OUTCOME_UNKNOWN where it was lost. */
  resultOf(pid: Pid): Promise<CommandResult>;
}
export const CommandRuns: Token<CommandRuns> = token('CommandRuns');

/** Options of `readOutput`. */
export interface ReadOutputOptions {
  /** Default `stdout`. */
  readonly stream?: 'stdout' | 'stderr';
  /** In bytes, from the beginning. */
  readonly offset?: number;
  /** In bytes; default 64 KiB, at most 1 MiB. */
  readonly length?: number;
}

/** A part of the output of a command, cut at a character. */
export interface OutputPart {
  readonly text: string;
  /** The offset after this part. */
  readonly next: number;
  /** The bytes that the command has written so far. */
  readonly size: number;
  /** Whether the command has ended, so that no more comes. */
  readonly ended: boolean;
}

/** Options of `waitOutput`. */
export interface WaitOutputOptions {
  /** Default `stdout`. */
  readonly stream?: 'stdout' | 'stderr';
  /** The start of the search in bytes; output that exists already is searched too. */
  readonly offset?: number;
  /** The longest time to wait; absent: until the command ends. */
  readonly timeoutMs?: number;
}

/** The answer of `waitOutput`. */
export interface OutputMatch {
  /** Whether the pattern was found. */
  readonly matched: boolean;
  /** The text that matched. */
  readonly text?: string;
  /** The offset after the match, or where a further search can go on. */
  readonly next: number;
  /** Whether the command has ended, so that no more comes. */
  readonly ended: boolean;
}

/** The output of commands. A process reads that of its own children, the host that of all. */
export interface CommandOutput {
  /** Throws NO_SUCH_PROCESS, NOT_A_CHILD, INVALID_TRANSITION for a process that is no command. */
  read(caller: Caller, pid: unknown, options: unknown): Promise<OutputPart>;
  /**
   * Resolves when the output matches, when the command ends, and at the timeout. Throws as `read`, and OUTCOME_UNKNOWN
   * where the command was lost and what it wrote does not match.
   */
  wait(caller: Caller, pid: unknown, pattern: unknown, options: unknown): Promise<OutputMatch>;
}
export const CommandOutput: Token<CommandOutput> = token('CommandOutput');

/** The files that commands write to. */
export interface OutputPaths {
  /** `process` is the number of its row. */
  of(process: number): { readonly outputFile: string; readonly errorFile: string };
  /** Called after the rows are removed. */
  remove(processes: readonly number[]): void;
}
export const OutputPaths: Token<OutputPaths> = token('OutputPaths');

/** Why a signal does not reach a command: its OS process is gone or another one, or it cannot be signalled from here. */
export type UnreachableReason = 'stale' | 'unavailable';

/** Compares commands with what the operating system knows of them. */
export interface CommandIdentities {
  /** Those of `commands` that a signal does not reach. Looks at the system, so it is not for units. */
  findUnreachable(commands: readonly HeldCommand[]): Promise<ReadonlyMap<Pid, UnreachableReason>>;
}
export const CommandIdentities: Token<CommandIdentities> = token('CommandIdentities');

/** Makes processes of programs that somebody else has started. */
export interface Adoptions {
  /** Throws INVALID_INPUT, NO_SUCH_PROCESS, PROCESS_TERMINATED, TREE_STOPPING, BUDGET_EXCEEDED, UNSUPPORTED. */
  adopt(caller: Caller, spec: unknown): Promise<Pid>;
  /** Throws INVALID_INPUT, NO_SUCH_PROCESS, PROCESS_TERMINATED, INVALID_TRANSITION for what was not adopted. */
  checkpoint(caller: Caller, pid: unknown, checkpoint: unknown): Promise<void>;
}
export const Adoptions: Token<Adoptions> = token('Adoptions');
