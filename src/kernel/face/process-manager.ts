import { inject, injectable } from 'inversify';
import type { Pid, ReservationId } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { Page } from '../../base/page.js';
import { type Token, token } from '../../base/token.js';
import type { CapabilitySpec, DelegationSpec } from '../../capability/holding/capability.js';
import type { Right } from '../../capability/resource/rights.js';
import type { ForkMode, ObjectType } from '../../memory/object/object.js';
import type { ObjectHandle, ObjectRef } from '../../memory/object/object-handle.js';
import { hostCaller } from '../../unit/caller.js';
import type { Budget, BudgetReport, ReserveOptions, Usage } from '../budget/budget.js';
import {
  CommandOutput,
  type OutputMatch,
  type OutputPart,
  type ReadOutputOptions,
  type WaitOutputOptions,
} from '../command/command-output.js';
import type {
  OnBudget,
  OnParentExit,
  OwnerKeys,
  ProcessRecord,
  ProcessResult,
  ProcessTree,
  Progress,
} from '../process/process.js';
import type { ProcessFilter } from '../process/process-filter.js';
import type { SignalName, SignalOptions, SignalReport, SignalScope } from '../signal/signal.js';
import { Budgets } from '../syscalls/budgets.js';
import { Chdir } from '../syscalls/chdir.js';
import { Exec } from '../syscalls/exec.js';
import { Exit } from '../syscalls/exit.js';
import { External } from '../syscalls/external.js';
import { Fork } from '../syscalls/fork.js';
import { type JournalEntry, RunHistory } from '../syscalls/history.js';
import { Prune } from '../syscalls/prune.js';
import { Queries } from '../syscalls/queries.js';
import { Signal } from '../syscalls/signal.js';
import { Spawn } from '../syscalls/spawn.js';
import { SpawnChild } from '../syscalls/spawn-child.js';
import { Wait } from '../syscalls/wait.js';

export interface SpawnSpec {
  /** `name` or `name@version`; default `base`, which lives until somebody ends it. */
  readonly image?: string;
  /** A string becomes `{ text }`. */
  readonly goal?: string | JsonObject | ObjectHandle;
  /** Validated by the image's input schema. */
  readonly args?: JsonValue;
  /** The same id and spec again returns the same pid; another spec is CONFLICT. */
  readonly id?: string;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly owner?: OwnerKeys;
  /** Root grants. */
  readonly capabilities?: readonly CapabilitySpec[];
  readonly budget?: Partial<Budget>;
  readonly onBudget?: OnBudget;
  /** Relative to the workspace; default: the parent's. */
  readonly cwd?: string;
  readonly deadlineMs?: number;
  /** For commands and tools; stored once per content and immutable after spawn. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default `cancel`. */
  readonly onParentExit?: OnParentExit;
  /** Starts paused. */
  readonly held?: boolean;
}

export interface ChildSpec extends Omit<SpawnSpec, 'capabilities'> {
  /** Drawn from what the parent holds and may hand on. */
  readonly delegate?: readonly DelegationSpec[];
}

export interface ViewSpec {
  /** Objects in the parent's view that it may hand on; nothing else of it is left. */
  readonly roots?: readonly ObjectRef[];
  readonly types?: readonly ObjectType[];
  readonly tags?: readonly string[];
  readonly rights?: readonly Right[];
}

export interface ForkSpec extends ChildSpec {
  readonly mode?: ForkMode;
  readonly view?: ViewSpec;
}

export interface ExecSpec {
  readonly image: string;
  readonly args?: JsonValue;
  readonly goal?: SpawnSpec['goal'];
  /** Default true. */
  readonly preserveMemory?: boolean;
  /** Default false. */
  readonly preserveCapabilities?: boolean;
}

export interface WaitOptions {
  /** WAIT_TIMEOUT when it is over; 0 polls. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface ExitSpec {
  readonly result?: JsonValue | ObjectHandle;
  readonly failed?: boolean;
  readonly message?: string;
  readonly exitCode?: number;
}

/** The process table: one lifecycle, one tree and one signal path for everything that runs. The host's face of it. */
export interface ProcessManager {
  /** Makes a root process; `capabilities` are root grants. */
  spawn(spec?: SpawnSpec): Promise<Pid>;
  /** Makes a child with a view forked from the parent's. */
  fork(parent: Pid, spec?: ForkSpec): Promise<Pid>;
  /** Makes a child with a fresh view. */
  spawnChild(parent: Pid, spec?: ChildSpec): Promise<Pid>;
  /** Same pid, new image; authority shrinks. */
  exec(pid: Pid, spec: ExecSpec): Promise<void>;
  wait(pid: Pid, child: Pid, options?: WaitOptions): Promise<ProcessResult>;
  waitAny(pid: Pid, children?: readonly Pid[], options?: WaitOptions): Promise<ProcessResult>;
  waitAll(pid: Pid, children?: readonly Pid[], options?: WaitOptions): Promise<ProcessResult[]>;
  /** The host waits for any process. */
  result(pid: Pid, options?: WaitOptions): Promise<ProcessResult>;
  signal(target: Pid | SignalScope, signal: SignalName, options?: SignalOptions): Promise<SignalReport>;
  pause(pid: Pid, reason?: string): Promise<SignalReport>;
  resume(pid: Pid): Promise<SignalReport>;
  cancel(pid: Pid, reason?: string): Promise<SignalReport>;
  kill(pid: Pid, reason?: string): Promise<SignalReport>;
  exit(pid: Pid, outcome?: ExitSpec): Promise<void>;
  /** Of an external process. */
  complete(pid: Pid, result?: JsonValue): Promise<void>;
  fail(pid: Pid, message: string): Promise<void>;
  progress(pid: Pid, progress: Progress): Promise<void>;
  abandon(pid: Pid, reason: string): Promise<void>;
  chdir(pid: Pid, path: string): Promise<string>;
  /** All or nothing along the path to the root. */
  charge(pid: Pid, usage: Usage): Promise<BudgetReport>;
  reserve(pid: Pid, usage: Usage, options?: ReserveOptions): Promise<ReservationId>;
  settle(id: ReservationId, usage: Usage): Promise<BudgetReport>;
  budget(pid: Pid): Promise<BudgetReport>;
  setBudget(pid: Pid, limits: Partial<Budget>): Promise<BudgetReport>;
  /** Throws NO_SUCH_PROCESS. */
  get(pid: Pid): Promise<ProcessRecord>;
  list(filter?: ProcessFilter): Promise<Page<ProcessRecord>>;
  children(pid: Pid, filter?: ProcessFilter): Promise<ProcessRecord[]>;
  /** Nearest first. */
  ancestors(pid: Pid): Promise<ProcessRecord[]>;
  tree(pid: Pid, options?: { depth?: number }): Promise<ProcessTree>;
  /**
   * What the calls of its body were answered, in that order, then those that have begun. What an earlier run wrote has a
   * lower fence than what this one writes: it was replayed. Throws NO_SUCH_PROCESS.
   */
  journal(pid: Pid): Promise<JournalEntry[]>;
  /** What a command has written, also after its end. Throws NO_SUCH_PROCESS, INVALID_TRANSITION for what is no command. */
  readOutput(pid: Pid, options?: ReadOutputOptions): Promise<OutputPart>;
  /** Waits until a command has written what matches; what is there already counts. Throws as `readOutput`. */
  waitOutput(pid: Pid, pattern: string | RegExp, options?: WaitOutputOptions): Promise<OutputMatch>;
  /** Forgets ended rows; the audit log keeps their history. */
  prune(options: { endedBefore: number }): Promise<{ pruned: number }>;
}
export const ProcessManager: Token<ProcessManager> = token('ProcessManager');

@injectable()
export class HostProcessManager implements ProcessManager {
  constructor(
    @inject(Spawn) private readonly spawning: Spawn,
    @inject(SpawnChild) private readonly spawningChild: SpawnChild,
    @inject(Fork) private readonly forking: Fork,
    @inject(Exec) private readonly execing: Exec,
    @inject(Wait) private readonly waiting: Wait,
    @inject(Signal) private readonly signalling: Signal,
    @inject(Exit) private readonly exiting: Exit,
    @inject(External) private readonly external: External,
    @inject(Chdir) private readonly moving: Chdir,
    @inject(Budgets) private readonly budgets: Budgets,
    @inject(Queries) private readonly queries: Queries,
    @inject(RunHistory) private readonly journals: RunHistory,
    @inject(Prune) private readonly pruning: Prune,
    @inject(CommandOutput) private readonly output: CommandOutput,
  ) {}

  spawn = async (spec: SpawnSpec = {}) => this.spawning.run(hostCaller, spec);
  fork = async (parent: Pid, spec: ForkSpec = {}) => this.forking.run(hostCaller, parent, spec);
  spawnChild = async (parent: Pid, spec: ChildSpec = {}) => this.spawningChild.run(hostCaller, parent, spec);
  exec = async (pid: Pid, spec: ExecSpec) => this.execing.run(hostCaller, pid, spec);
  wait = async (pid: Pid, child: Pid, options?: WaitOptions) => this.waiting.one(hostCaller, pid, child, options);
  waitAny = async (pid: Pid, children?: readonly Pid[], options?: WaitOptions) =>
    this.waiting.any(hostCaller, pid, children, options);
  waitAll = async (pid: Pid, children?: readonly Pid[], options?: WaitOptions) =>
    this.waiting.all(hostCaller, pid, children, options);
  result = async (pid: Pid, options?: WaitOptions) => this.waiting.result(pid, options);
  signal = async (target: Pid | SignalScope, signal: SignalName, options?: SignalOptions) =>
    this.signalling.run(hostCaller, target, signal, options);
  pause = async (pid: Pid, reason?: string) => this.signalling.run(hostCaller, pid, 'pause', { reason });
  resume = async (pid: Pid) => this.signalling.run(hostCaller, pid, 'resume');
  cancel = async (pid: Pid, reason?: string) => this.signalling.run(hostCaller, pid, 'cancel', { reason });
  kill = async (pid: Pid, reason?: string) => this.signalling.run(hostCaller, pid, 'kill', { reason });
  exit = async (pid: Pid, outcome?: ExitSpec) => this.exiting.run(hostCaller, pid, outcome);
  complete = async (pid: Pid, result?: JsonValue) => this.external.complete(hostCaller, pid, result);
  fail = async (pid: Pid, message: string) => this.external.fail(hostCaller, pid, message);
  progress = async (pid: Pid, progress: Progress) => this.external.progress(hostCaller, pid, progress);
  abandon = async (pid: Pid, reason: string) => this.external.abandon(hostCaller, pid, reason);
  chdir = async (pid: Pid, path: string) => this.moving.run(hostCaller, pid, path);
  charge = async (pid: Pid, usage: Usage) => this.budgets.charge(hostCaller, pid, usage);
  reserve = async (pid: Pid, usage: Usage, options?: ReserveOptions) =>
    this.budgets.reserve(hostCaller, pid, usage, options);
  settle = async (id: ReservationId, usage: Usage) => this.budgets.settle(hostCaller, id, usage);
  budget = async (pid: Pid) => this.budgets.report(pid);
  setBudget = async (pid: Pid, limits: Partial<Budget>) => this.budgets.setLimits(hostCaller, pid, limits);
  get = async (pid: Pid) => this.queries.get(pid);
  list = async (filter?: ProcessFilter) => this.queries.list(filter);
  children = async (pid: Pid, filter?: ProcessFilter) => this.queries.children(pid, filter);
  ancestors = async (pid: Pid) => this.queries.ancestors(pid);
  tree = async (pid: Pid, options?: { depth?: number }) => this.queries.tree(pid, options);
  journal = async (pid: Pid) => this.journals.of(pid);
  readOutput = async (pid: Pid, options?: ReadOutputOptions) => this.output.read(hostCaller, pid, options);
  waitOutput = async (pid: Pid, pattern: string | RegExp, options?: WaitOutputOptions) =>
    this.output.wait(hostCaller, pid, pattern, options);
  prune = async (options: { endedBefore: number }) => this.pruning.run(hostCaller, options);
}
