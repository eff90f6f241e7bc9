import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { ObjectHandle } from '../../memory/object/object.js';
import { type ActingProcess, bodyWaitKinds } from '../../unit/caller.js';
import type { Budget, Usage } from '../budget/budget.js';

export const processKinds = ['agent', 'steps', 'command', 'external'] as const;
/** What runs a process: a body, a list of steps, the operating system, or a worker outside the kernel. */
export type ProcessKind = (typeof processKinds)[number];

const liveStatuses = ['created', 'runnable', 'running', 'waiting', 'paused', 'stopping'] as const;
const terminalStatuses = ['exited', 'failed', 'killed', 'abandoned'] as const;
export const processStatuses = [...liveStatuses, ...terminalStatuses] as const;
export type LiveStatus = (typeof liveStatuses)[number];
/** The status of an ended process. */
export type TerminalStatus = (typeof terminalStatuses)[number];
/** The status of a process: docs/tables.md#states. */
export type ProcessStatus = LiveStatus | TerminalStatus;

/** What becomes of a process when its parent ends: it is cancelled, goes to the parent's parent, or becomes a root. */
export type OnParentExit = 'cancel' | 'reparent' | 'detach';
/** What a call does that the budget refuses: it only throws BUDGET_EXCEEDED, or the process is cancelled as well. */
export type OnBudget = 'refuse' | 'cancel';
/** What becomes of a process whose node is gone: it is run again, or fails. */
export type RecoveryDisposition = 'rerun' | 'fail';

/** What a process belongs to in the application. The keys select processes in lists and signals. */
export interface OwnerKeys {
  /** The session of a user. */
  readonly session?: string;
  /** The turn of a conversation. */
  readonly turn?: string;
  /** The tool call of a model. */
  readonly toolCall?: string;
  /** The terminal. */
  readonly terminal?: string;
  /** The hook. */
  readonly hook?: string;
  /** The extension. */
  readonly extension?: string;
  /** The sandbox. */
  readonly sandbox?: string;
  /** The kind of program that it comes from: one of the usual ones, or a word of the user's. */
  readonly source?: OwnerSource | (string & {});
}

/** The usual values of `owner.source`. */
const ownerSources = ['acp_agent', 'acp_terminal', 'sandbox_terminal', 'hook', 'extension', 'subprocess'] as const;
type OwnerSource = (typeof ownerSources)[number];

/** `tools`, `image` and `code` are waits for a node that can run the process; the others are waits of its body. */
export const waitKinds = [...bodyWaitKinds, 'tools', 'image', 'code'] as const;

/** The thing that a process waits for. */
export interface WaitFacet {
  /** The kind of wait. */
  readonly kind: (typeof waitKinds)[number];
  /** A description of it. */
  readonly what: string;
  /** When the wait began, in milliseconds since 1970. */
  readonly since: number;
  /** When the wait ends at the latest. */
  readonly deadline?: number;
  /** Of `tools`: the tools that no live node with the image has. Of `image`: `queue:NAME`, where nodes with it claim from others. */
  readonly missing?: readonly string[];
  /** Of `code`: the call that the journal has at the place where the image asked for another one. */
  readonly recorded?: string;
  /** Of `code`: the call that the image asked for. */
  readonly asked?: string;
  /** Of `code`: the builds of the image that could not replay the journal. */
  readonly builds?: readonly string[];
}

/** A wait as it is stored. */
export interface WaitState extends WaitFacet {
  /** The changes that wake it, each as `kind:id`. */
  readonly on?: readonly string[];
}

/** The progress that a body has reported. */
export interface Progress {
  /** The amount of work that is done. */
  readonly done: number;
  /** The whole amount of work; absent: not known. */
  readonly total?: number;
  readonly text?: string;
}

/** The end of a process: its kind, reason and evidence. */
export type OutcomeKind =
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'killed'
  | 'timed_out'
  | 'budget_exhausted'
  | 'parent_exited'
  | 'abandoned';

/** The end of a process. */
export interface Outcome {
  readonly kind: OutcomeKind;
  /** The reason that was given, or the code of the error of a body. */
  readonly reason?: string;
  /** A pid, `host` or `kernel`. */
  readonly by?: string;
  /** Of a failed body: message, facts and stack of its error. */
  readonly evidence?: JsonObject;
  /** Of a command, or as given to `exit`. */
  readonly exitCode?: number | null;
  /** Of a command: the signal that ended it. */
  readonly signal?: string | null;
  /** Of a process that was being stopped and still ended by itself, with its own result. */
  readonly stop?: StopOrder;
}

/** The reason of a stop: stored before anything is signalled. It is the outcome if the process does not end in its grace. */
export interface StopOrder {
  /** The outcome that it leads to. */
  readonly kind: OutcomeKind;
  /** The reason that was given. */
  readonly reason?: string;
  /** A pid, `host` or `kernel`. */
  readonly by: string;
}

/** A stop order as it is stored. */
export interface StoredStop extends StopOrder {
  /** The id of the record of the stop, which causes the end. */
  readonly record?: string;
}

/** One row of the process table. A change is a new record that is given to the repository. */
export interface ProcessRow {
  // Fixed at creation.
  readonly n: number;
  readonly pid: Pid;
  readonly bornUnder: Pid | null;
  /** The row numbers of the processes it was spawned under, root first. */
  readonly path: readonly number[];
  readonly depth: number;
  readonly name: string | null;
  /** As given in the spec. */
  readonly id: string | null;
  /** Null: `default`. */
  readonly queue: string | null;
  readonly externalRef: string | null;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly env: string | null;
  readonly deadlineMs: number | null;
  readonly onParentExit: OnParentExit;
  readonly onBudget: OnBudget;
  readonly createdAt: number;
  // Changed by setOwner and checkpoint.
  readonly owner: OwnerKeys | null;
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
  /** Capabilities of earlier generations allow nothing, except the one on the own namespace. */
  readonly authoritySince: number;
  readonly recovery: RecoveryDisposition;
  readonly retry: JsonObject | null;
  /** True where a stop waits for the answer of the worker outside. */
  readonly acknowledgesStop: boolean | null;
  // Changed by transitions.
  readonly status: ProcessStatus;
  readonly previous: ProcessStatus | null;
  /** Of a paused process: `host`, or the process that paused it. */
  readonly pausedBy: Pid | 'host' | null;
  readonly version: number;
  readonly fence: number;
  readonly attempt: number;
  /** The number of starts that were lost with their node since its run last got on. */
  readonly recoveries: number;
  /** The builds of its image that could not replay its journal. */
  readonly failedBuilds: readonly string[] | null;
  readonly node: string | null;
  readonly wait: WaitState | null;
  readonly stop: StoredStop | null;
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

/** A process, as the public API shows it. */
export interface ProcessRecord {
  readonly pid: Pid;
  /** The process that can wait for it now; null for a root. */
  readonly parent: Pid | null;
  /** The process that it was spawned under, whose limits bind it; null for a root. */
  readonly bornUnder: Pid | null;
  /** The root of its tree. */
  readonly root: Pid;
  /** Its distance from the root that it was spawned under. */
  readonly depth: number;
  readonly kind: ProcessKind;
  readonly status: ProcessStatus;
  /** `name@version`. */
  readonly image: string;
  readonly name?: string;
  /** The id that it was spawned with: `processes.find(bornUnder, id)` finds it again. */
  readonly id?: string;
  /** The queue that nodes claim it from. */
  readonly queue: string;
  /** Names the work that a process outside this kernel stands for. */
  readonly externalRef?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What it belongs to in the application. */
  readonly owner: OwnerKeys;
  /** Its working directory, relative to the workspace. */
  readonly cwd: string;
  /** The object with its goal. */
  readonly goal: ObjectId;
  readonly args: JsonValue;
  /** The names of the variables that it was spawned with; their values are not shown. */
  readonly env?: readonly string[];
  /** The object with its result, once it has ended with one. */
  readonly result?: ObjectId;
  /** What becomes of it when its node is gone. */
  readonly recovery: RecoveryDisposition;
  /** Its own limits. */
  readonly budget: Partial<Budget>;
  /** The usage of the process and of everything under it. */
  readonly used: Usage;
  /** Counts its images: 1, and one more after each `exec`. */
  readonly generation: number;
  /** Counts the runs of its body by its retry policy, from 1. */
  readonly attempt: number;
  /** Present while it waits. */
  readonly wait?: WaitFacet;
  /** Of a paused process: `host`, or the process that paused it. What the host paused only the host resumes. */
  readonly pausedBy?: Pid | 'host';
  /** The outcome of an ended process. */
  readonly outcome?: Outcome;
  /** The message that it ended with. */
  readonly message?: string;
  /** What becomes of it when its parent ends. */
  readonly onParentExit: OnParentExit;
  /** The node that runs it. */
  readonly node?: string;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly updatedAt: number;
  readonly exitedAt?: number;
  /** When it is stopped, in milliseconds since 1970. */
  readonly deadlineAt?: number;
  /** The progress that its body has reported. */
  readonly progress?: Progress;
  /** Of a command. */
  readonly command?: CommandFacts;
}

/** The part of a process record that only commands have. */
export interface CommandFacts {
  /** The command line, redacted and bounded. */
  readonly line: string;
  /** The pid of the operating system; absent until it has started. */
  readonly osPid?: number;
  /** Absent of an adopted program, which has no output. */
  readonly outputFile?: string;
  /** The file with its error output. */
  readonly errorFile?: string;
  /** Of a program that somebody else has started. */
  readonly adopted?: AdoptedFacts;
}

/** The part of a process record that only adopted programs have. */
export interface AdoptedFacts {
  /** The process group that signals go to; absent: they go to the process alone. */
  readonly groupPid?: number;
}

/** A process with everything under it. */
export interface ProcessTree extends ProcessRecord {
  /** Its children, in the order of their creation. */
  readonly children: readonly ProcessTree[];
  /** Present where some of its children are missing: a tree is cut at 10,000 processes. */
  readonly more?: true;
}

/** How many processes there are. */
export interface ProcessCounts {
  /** All of them. */
  readonly total: number;
  readonly status: Readonly<Record<ProcessStatus, number>>;
  readonly kind: Readonly<Record<ProcessKind, number>>;
}

/** The end of a process, as those who wait for it get it. */
export interface ProcessResult<Value = JsonValue> {
  readonly pid: Pid;
  readonly status: TerminalStatus;
  /** The outcome, with its reason and evidence. */
  readonly outcome: Outcome;
  /** A handle to the object with the result. */
  readonly result?: ObjectHandle;
  /** The result itself. */
  readonly value?: Value;
  /** The message that it ended with. */
  readonly message?: string;
  /** Of a command, or as given to `exit`. */
  readonly exitCode?: number | null;
  /** The usage of the process and of everything under it. */
  readonly usage: Usage;
}

const terminal: ReadonlySet<ProcessStatus> = new Set(terminalStatuses);

export function isTerminal(status: ProcessStatus): status is TerminalStatus {
  return terminal.has(status);
}

/** The status in which a process begins: a body is runnable, what runs elsewhere is created until it is started. */
export function beginningStatusOf(kind: ProcessKind): 'runnable' | 'created' {
  return kind === 'agent' || kind === 'steps' ? 'runnable' : 'created';
}

export const defaultQueue = 'default';

/** The queue from which nodes claim the process. */
export function queueOf({ queue }: ProcessRow): string {
  return queue ?? defaultQueue;
}

/** Whether a node runs or drives the process, so that the node must stop it before it can end. */
export function isDriven(row: ProcessRow): boolean {
  return row.node !== null;
}

/** Whether the process waits for code that can replay its journal, also while it is paused. */
export function isParked({ status, previous, node, wait }: ProcessRow): boolean {
  const isWaiting = status === 'waiting' || (status === 'paused' && previous === 'waiting');
  return isWaiting && node === null && wait?.kind === 'code';
}

/** The stop order of a process, without what only the store knows of it. */
export function stopOrderOf({ stop }: Pick<ProcessRow, 'stop'>): StopOrder | null {
  if (stop === null) return null;
  const { record: _record, ...order } = stop;
  return order;
}

/** Who paused the process; null if it is not paused. A row that does not say it counts as paused by the host. */
export function pauserOf({ status, pausedBy }: ProcessRow): Pid | 'host' | null {
  return status === 'paused' ? (pausedBy ?? 'host') : null;
}

export function toActingProcess({ pid, status, deadlineAt }: ProcessRow): ActingProcess {
  const isStopped = status === 'stopping' || isTerminal(status);
  return { pid, isPaused: status === 'paused', deadlineAt: isStopped ? null : deadlineAt };
}

/** Limits of a process's own on how long it may live, from its creation. */
interface TimeLimits {
  readonly deadlineMs: number | null;
  readonly wallMs: number | undefined;
}

/** The earliest of a process's own limits and of the deadline of the process that it was spawned under. */
export function earliestDeadline(
  createdAt: number,
  { deadlineMs, wallMs }: TimeLimits,
  above: Pick<ProcessRow, 'deadlineAt'> | null,
): number | null {
  const own = [deadlineMs, wallMs].flatMap((ms) => (ms === null || ms === undefined ? [] : [createdAt + ms]));
  const all = above === null || above.deadlineAt === null ? own : [...own, above.deadlineAt];
  return all.length === 0 ? null : Math.min(...all);
}
