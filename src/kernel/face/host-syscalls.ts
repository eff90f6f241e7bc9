import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { Page } from '../../base/page.js';
import type { StoredObject } from '../../memory/object/object.js';
import type { Caller } from '../../unit/caller.js';
import type { Budget, BudgetReport } from '../budget/budget.js';
import type { AdoptedCheckpoint, AdoptedEnd, AdoptedProcess, AdoptSpec } from '../command/adoption.js';
import { Adoptions } from '../command/command-ports.js';
import type { MessageBody } from '../message/message.js';
import { exitValueOf } from '../process/exit-value.js';
import type {
  OwnerKeys,
  ProcessCounts,
  ProcessRecord,
  ProcessResult,
  ProcessTree,
  Progress,
} from '../process/process.js';
import type { ProcessFilter } from '../process/process-filter.js';
import type { SignalName, SignalOptions, SignalReport, SignalScope } from '../signal/signal.js';
import { Budgets } from '../syscalls/budgets.js';
import { External } from '../syscalls/external.js';
import { type JournalEntry, type JournalOptions, RunHistory } from '../syscalls/history.js';
import { InspectProcess } from '../syscalls/inspect.js';
import { type LogLine, ProcessLogs } from '../syscalls/logs.js';
import { Prune } from '../syscalls/prune.js';
import { Queries } from '../syscalls/queries.js';
import { Retry } from '../syscalls/retry.js';
import { Send } from '../syscalls/send.js';
import { SetOwner } from '../syscalls/set-owner.js';
import { Signal } from '../syscalls/signal.js';
import { Spawn } from '../syscalls/spawn.js';
import { Wait } from '../syscalls/wait.js';
import type { SpawnSpec, WaitOptions } from './process-specs.js';

/** Syscalls that only the host makes. */
@injectable()
export class HostSyscalls {
  constructor(
    @inject(Spawn) private readonly spawning: Spawn,
    @inject(Signal) private readonly signalling: Signal,
    @inject(Wait) private readonly waiting: Wait,
    @inject(External) private readonly external: External,
    @inject(Budgets) private readonly budgets: Budgets,
    @inject(Queries) private readonly queries: Queries,
    @inject(Adoptions) private readonly adoptions: Adoptions,
    @inject(SetOwner) private readonly owners: SetOwner,
    @inject(RunHistory) private readonly histories: RunHistory,
    @inject(InspectProcess) private readonly inspecting: InspectProcess,
    @inject(ProcessLogs) private readonly lines: ProcessLogs,
    @inject(Prune) private readonly pruning: Prune,
    @inject(Retry) private readonly retrying: Retry,
    @inject(Send) private readonly sending: Send,
  ) {}

  /** Creates a root process; `capabilities` are root grants. Throws NO_SUCH_IMAGE, INVALID_PATH, CONFLICT. */
  spawn(caller: Caller, spec: SpawnSpec = {}): Promise<Pid> {
    return this.spawning.spawnRoot(caller, spec);
  }

  /** Sends a signal to a process, its subtree, or everything a scope selects. Throws NO_SUCH_PROCESS. */
  signal(
    caller: Caller,
    target: Pid | SignalScope,
    signal: SignalName,
    options?: SignalOptions,
  ): Promise<SignalReport> {
    return this.signalling.run(caller, target, signal, options);
  }

  /** Waits for any process. Throws NO_SUCH_PROCESS, WAIT_TIMEOUT. */
  result(_caller: Caller, pid: Pid, options?: WaitOptions): Promise<ProcessResult> {
    return this.waiting.waitResult(pid, options);
  }

  /** Waits for any process and answers with the value of its result. Throws PROCESS_FAILED, and as `result`. */
  async value(_caller: Caller, pid: Pid, options?: WaitOptions): Promise<JsonValue | undefined> {
    return exitValueOf(await this.waiting.waitResult(pid, options));
  }

  /**
   * Makes a process of a program of this machine that somebody else has started: it is watched, and stopped by cancel, kill,
   * its deadline and the end of its parent, never because a kernel ends. Throws INVALID_INPUT, TREE_STOPPING, UNSUPPORTED.
   */
  async adopt(caller: Caller, spec: AdoptSpec): Promise<AdoptedProcess> {
    const pid = await this.adoptions.adopt(caller, spec);
    return {
      pid,
      checkpoint: (checkpoint) => this.adoptions.checkpoint(caller, pid, checkpoint),
      complete: (end) => this.external.complete(caller, pid, end),
    };
  }

  /** Tells new facts about an adopted program; those not named stay. Throws INVALID_TRANSITION, PROCESS_TERMINATED. */
  checkpoint(caller: Caller, pid: Pid, checkpoint: AdoptedCheckpoint): Promise<void> {
    return this.adoptions.checkpoint(caller, pid, checkpoint);
  }

  /**
   * Puts a message of the host into the mailbox of a process, with the sender `host`. A handle in it lets the process read
   * the object. Throws NO_SUCH_PROCESS, PROCESS_TERMINATED, MAILBOX_FULL, NO_SUCH_OBJECT.
   */
  send(caller: Caller, pid: Pid, message: MessageBody): Promise<void> {
    return this.sending.runAsHost(caller, pid, message);
  }

  /**
   * Ends an external process with its result, or an adopted program as `{ exitCode }` or `{ error }` tells. Throws
   * INVALID_TRANSITION, PROCESS_TERMINATED.
   */
  complete(caller: Caller, pid: Pid, result?: JsonValue | AdoptedEnd): Promise<void> {
    return this.external.complete(caller, pid, result);
  }

  /** Ends an external process as failed. Throws INVALID_TRANSITION. */
  fail(caller: Caller, pid: Pid, message: string): Promise<void> {
    return this.external.fail(caller, pid, message);
  }

  /** Reports progress of an external process; the first report also starts it. Throws INVALID_TRANSITION. */
  progress(caller: Caller, pid: Pid, progress: Progress): Promise<void> {
    return this.external.progress(caller, pid, progress);
  }

  /** Ends a process whose outcome nobody will ever know. Throws PROCESS_TERMINATED. */
  abandon(caller: Caller, pid: Pid, reason: string): Promise<void> {
    return this.external.abandon(caller, pid, reason);
  }

  /**
   * Has a process that waits for code run again over its journal, by any build of its image, or of `version` of it. Throws
   * INVALID_TRANSITION for one that does not wait for code, NO_SUCH_IMAGE, CAPABILITY_DENIED, INVALID_INPUT.
   */
  retry(caller: Caller, pid: Pid, options?: { version?: string }): Promise<void> {
    return this.retrying.run(caller, pid, options);
  }

  /** Changes limits of a live process; those not named stay. Throws INVALID_INPUT, PROCESS_TERMINATED. */
  setBudget(caller: Caller, pid: Pid, limits: Partial<Budget>): Promise<BudgetReport> {
    return this.budgets.setLimits(caller, pid, limits);
  }

  /** Replaces the owner keys of a live process; `{}` removes them. Throws INVALID_INPUT, PROCESS_TERMINATED. */
  setOwner(caller: Caller, pid: Pid, owner: OwnerKeys): Promise<void> {
    return this.owners.run(caller, pid, owner);
  }

  /** The process that was spawned under `parent` with `id`; `parent` is null for a root. Throws NO_SUCH_PROCESS. */
  find(_caller: Caller, parent: Pid | null, id: string): Promise<Pid | undefined> {
    return this.spawning.find(parent, id);
  }

  /** Throws NO_SUCH_PROCESS. */
  get(_caller: Caller, pid: Pid): Promise<ProcessRecord> {
    return this.queries.get(pid);
  }

  /** A page in the order of creation, or against it. It is empty only where nothing follows; `next` says that more may. */
  list(_caller: Caller, filter?: ProcessFilter): Promise<Page<ProcessRecord>> {
    return this.queries.list(filter);
  }

  /** How many processes there are by status and by kind, of all or of those that a filter selects. */
  counts(_caller: Caller, filter?: Omit<ProcessFilter, 'limit' | 'after' | 'order'>): Promise<ProcessCounts> {
    return this.queries.counts(filter);
  }

  /** Nearest first. Throws NO_SUCH_PROCESS. */
  ancestors(_caller: Caller, pid: Pid): Promise<ProcessRecord[]> {
    return this.queries.ancestors(pid);
  }

  /** The process with what is under it, 10,000 processes at most: `more` tells where children are missing. Throws NO_SUCH_PROCESS. */
  tree(_caller: Caller, pid: Pid, options?: { depth?: number }): Promise<ProcessTree> {
    return this.queries.tree(pid, options);
  }

  /**
   * The journal of its body: answered calls in that order, then those that have begun. Entries of an earlier run have a
   * lower fence than those of this one: they were replayed. `values` shows the answers, each up to 16,384 characters of JSON.
   * Throws NO_SUCH_PROCESS.
   */
  journal(_caller: Caller, pid: Pid, options?: JournalOptions): Promise<JournalEntry[]> {
    return this.histories.journalOf(pid, options);
  }

  /** The lines that its body has logged with `ctx.log`, oldest first, also after its end. Throws NO_SUCH_PROCESS. */
  logs(_caller: Caller, pid: Pid, options?: { after?: string; limit?: number }): Promise<Page<LogLine>> {
    return this.lines.list(pid, options);
  }

  /** The goal, also of an ended process, as an act of the host that is on record. Throws NO_SUCH_PROCESS. */
  goal(_caller: Caller, pid: Pid): Promise<StoredObject> {
    return this.inspecting.goal(pid);
  }

  /**
   * The object that the process has named `transcript` in its own namespace, as agents do turn by turn; undefined where there
   * is none. It is on record, as `goal` is. Throws NO_SUCH_PROCESS.
   */
  transcript(_caller: Caller, pid: Pid): Promise<StoredObject | undefined> {
    return this.inspecting.transcript(pid);
  }

  /**
   * Removes processes that ended before a time with everything that hangs on them: capabilities, views, objects that nobody
   * else holds, journal, mailbox, logs. Events and the audit log are kept. Free pages are given back; `compact` rewrites the
   * file, which wants no live node (CONFLICT), and a database that is a file (STORE_UNSUPPORTED).
   */
  prune(caller: Caller, options: { endedBefore: number; compact?: boolean }): Promise<{ pruned: number }> {
    return this.pruning.run(caller, options);
  }
}
