import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { ObjectHandle } from '../../memory/object/object-handle.js';
import type { Budget, Usage } from '../budget/budget.js';

export const processKinds = ['agent', 'steps', 'command', 'external'] as const;
export type ProcessKind = (typeof processKinds)[number];

export type TerminalStatus = 'exited' | 'failed' | 'killed' | 'abandoned';
export type LiveStatus = 'created' | 'runnable' | 'running' | 'waiting' | 'paused' | 'stopping';
export type ProcessStatus = LiveStatus | TerminalStatus;

export type OnParentExit = 'cancel' | 'reparent' | 'detach';
export type OnBudget = 'refuse' | 'cancel';
export type RecoveryDisposition = 'rerun' | 'fail';

export interface OwnerKeys {
  readonly session?: string;
  readonly turn?: string;
  readonly toolCall?: string;
  readonly terminal?: string;
  readonly hook?: string;
  readonly extension?: string;
}

export interface WaitFacet {
  readonly kind: 'child' | 'message' | 'signal' | 'approval' | 'timer';
  readonly what: string;
  readonly since: number;
  readonly deadline?: number;
}

/** The facet as the kernel keeps it. */
export interface WaitState extends WaitFacet {
  /** What wakes it, each as `kind:id`. */
  readonly on?: readonly string[];
}

export interface Progress {
  readonly done: number;
  readonly total?: number;
  readonly text?: string;
}

export type OutcomeKind =
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'killed'
  | 'timed_out'
  | 'budget_exhausted'
  | 'parent_exited'
  | 'abandoned';

/** How a process ended. Typed; nothing is ever parsed out of a message. */
export interface Outcome {
  readonly kind: OutcomeKind;
  readonly reason?: string;
  /** Who asked for it: a pid, or `host`. */
  readonly by?: string;
  readonly evidence?: JsonObject;
  readonly exitCode?: number | null;
  readonly signal?: string | null;
}

/** Why a process is stopping: stored before anything is signalled, and its outcome when the grace is over. */
export interface StopOrder {
  readonly kind: OutcomeKind;
  readonly reason?: string;
  readonly by: string;
}

/** One row of the process table, as the kernel works with it. A change is a new record handed to the repository. */
export interface ProcessRow {
  // Fixed at birth.
  readonly n: number;
  readonly pid: Pid;
  readonly bornUnder: Pid | null;
  /** The numbers of the processes it was born under, root first. */
  readonly path: readonly number[];
  readonly depth: number;
  readonly name: string | null;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly owner: OwnerKeys | null;
  readonly env: string | null;
  readonly deadlineMs: number | null;
  readonly onParentExit: OnParentExit;
  readonly onBudget: OnBudget;
  readonly createdAt: number;
  // Changed by the end of a parent.
  readonly parent: Pid | null;
  readonly root: Pid;
  // Changed by exec.
  readonly kind: ProcessKind;
  readonly image: string;
  readonly goal: ObjectId;
  readonly view: number;
  readonly args: JsonValue;
  readonly generation: number;
  /** Capabilities of earlier generations are dead, the one on the own namespace apart. */
  readonly authoritySince: number;
  readonly recovery: RecoveryDisposition;
  readonly retry: JsonObject | null;
  // Changed by transitions.
  readonly status: ProcessStatus;
  readonly previous: ProcessStatus | null;
  readonly version: number;
  readonly fence: number;
  readonly attempt: number;
  /** How often it was started since its run last got on. */
  readonly recoveries: number;
  readonly node: string | null;
  readonly wait: WaitState | null;
  readonly stop: StopOrder | null;
  readonly outcome: Outcome | null;
  readonly message: string | null;
  readonly result: ObjectId | null;
  readonly startedAt: number | null;
  readonly updatedAt: number;
  readonly exitedAt: number | null;
  readonly exitOrder: number | null;
  readonly deadlineAt: number | null;
  readonly alarmAt: number | null;
  // Changed by chdir and by reports.
  readonly cwd: string;
  readonly progress: Progress | null;
}

/** A process as its users see it. */
export interface ProcessRecord {
  readonly pid: Pid;
  readonly parent: Pid | null;
  readonly bornUnder: Pid | null;
  readonly root: Pid;
  readonly depth: number;
  readonly kind: ProcessKind;
  readonly status: ProcessStatus;
  readonly image: string;
  readonly name?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly owner: OwnerKeys;
  readonly cwd: string;
  readonly goal: ObjectId;
  readonly budget: Partial<Budget>;
  readonly used: Usage;
  readonly generation: number;
  readonly attempt: number;
  readonly wait?: WaitFacet;
  readonly outcome?: Outcome;
  readonly message?: string;
  readonly onParentExit: OnParentExit;
  readonly node?: string;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly updatedAt: number;
  readonly exitedAt?: number;
  readonly deadlineAt?: number;
  readonly progress?: Progress;
  /** Of a command. */
  readonly command?: CommandFacts;
}

/** What is known of a command besides what every process has. */
export interface CommandFacts {
  /** The command line for people: redacted and bounded. */
  readonly line: string;
  /** What the operating system calls it; absent until it has started. */
  readonly osPid?: number;
  readonly outputFile: string;
  readonly errorFile: string;
}

export interface ProcessTree extends ProcessRecord {
  readonly children: readonly ProcessTree[];
}

export interface ProcessResult {
  readonly pid: Pid;
  readonly status: TerminalStatus;
  readonly outcome: Outcome;
  readonly result?: ObjectHandle;
  readonly value?: JsonValue;
  readonly message?: string;
  readonly exitCode?: number | null;
  readonly usage: Usage;
}

const terminal: ReadonlySet<ProcessStatus> = new Set(['exited', 'failed', 'killed', 'abandoned']);

export function isTerminal(status: ProcessStatus): status is TerminalStatus {
  return terminal.has(status);
}

/** Whether a node runs or drives it, so that it has to be told before it can end. */
export function isDriven(row: ProcessRow): boolean {
  return row.node !== null;
}
