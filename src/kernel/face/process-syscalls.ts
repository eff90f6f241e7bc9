import { inject, injectable } from 'inversify';
import type { Pid, ReservationId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { Schema } from '../../base/schema/schema-types.js';
import type { Caller, ProcessCaller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import type { BudgetReport, ReserveOptions, Usage } from '../budget/budget.js';
import type { CommandHandle, CommandResult, CommandSpec } from '../command/command.js';
import {
  CommandOutput,
  CommandRuns,
  type OutputMatch,
  type OutputPart,
  type ReadOutputOptions,
  type WaitOutputOptions,
} from '../command/command-ports.js';
import type { Message, MessageBody, ReceiveOptions } from '../message/message.js';
import { exitValueOf } from '../process/exit-value.js';
import type { ProcessRecord, ProcessResult } from '../process/process.js';
import type { ProcessFilter } from '../process/process-filter.js';
import type { ImageReference } from '../process/typed-image.js';
import type { AskOptions } from '../question/question.js';
import type { SignalReport, UserSignal } from '../signal/signal.js';
import { cancelOptions, parse, payloadOptions, userSignalName } from '../specs.js';
import { Ask } from '../syscalls/ask.js';
import { Budgets } from '../syscalls/budgets.js';
import { Chdir } from '../syscalls/chdir.js';
import { Exec } from '../syscalls/exec.js';
import { Exit } from '../syscalls/exit.js';
import { Fork } from '../syscalls/fork.js';
import { Queries } from '../syscalls/queries.js';
import { Receive } from '../syscalls/receive.js';
import { Send } from '../syscalls/send.js';
import { Signal } from '../syscalls/signal.js';
import { Spawn } from '../syscalls/spawn.js';
import { Wait } from '../syscalls/wait.js';
import { ExitWait } from '../waiting/exit-wait.js';
import type { ChildSpec, ExecSpec, ExitSpec, ForkSpec, WaitOptions } from './process-specs.js';

/** Syscalls that act for a process: a process makes them for itself, the host for the process that it names. */
@injectable()
export class SharedSyscalls {
  constructor(
    @inject(Spawn) private readonly spawning: Spawn,
    @inject(Fork) private readonly forking: Fork,
    @inject(Exec) private readonly execing: Exec,
    @inject(Exit) private readonly exiting: Exit,
    @inject(Wait) private readonly waiting: Wait,
    @inject(Queries) private readonly queries: Queries,
    @inject(Chdir) private readonly moving: Chdir,
    @inject(Budgets) private readonly budgets: Budgets,
    @inject(Units) private readonly units: Units,
  ) {}

  /** Creates a child with a fresh view. Throws AMPLIFICATION, BUDGET_EXCEEDED, TREE_STOPPING, PROCESS_TERMINATED. */
  spawnChild(caller: Caller, parent: Pid, spec: ChildSpec = {}): Promise<Pid> {
    return this.spawning.spawnChild(caller, parent, spec);
  }

  /** Creates a child with a view that is forked from the parent's. Throws as `spawnChild`. */
  fork(caller: Caller, parent: Pid, spec: ForkSpec = {}): Promise<Pid> {
    return this.forking.run(caller, parent, spec);
  }

  /** Same pid, new image; authority shrinks. Throws NO_SUCH_IMAGE, CAPABILITY_DENIED, INVALID_TRANSITION. */
  exec(caller: Caller, pid: Pid, spec: ExecSpec): Promise<void> {
    return this.execing.run(caller, pid, spec);
  }

  /** Ends the process with its result. Throws PROCESS_TERMINATED, NO_SUCH_OBJECT. */
  exit(caller: Caller, pid: Pid, outcome?: ExitSpec): Promise<void> {
    return this.exiting.run(caller, pid, outcome);
  }

  /** Resolves when the child has ended. Throws NOT_A_CHILD, WAIT_CYCLE, WAIT_TIMEOUT, CANCELLED. */
  wait(caller: Caller, pid: Pid, child: Pid, options?: WaitOptions): Promise<ProcessResult> {
    return this.waiting.waitOne(caller, pid, child, options);
  }

  /** The first that ends of `children`, or of all whose result was not collected yet. Throws NO_CHILDREN, as `wait`. */
  waitAny(caller: Caller, pid: Pid, children?: readonly Pid[], options?: WaitOptions): Promise<ProcessResult> {
    return this.waiting.waitAny(caller, pid, children, options);
  }

  /** All of `children`, in the order given, or all whose result was not collected yet. Throws as `waitAny`. */
  waitAll(caller: Caller, pid: Pid, children?: readonly Pid[], options?: WaitOptions): Promise<ProcessResult[]> {
    return this.waiting.waitAll(caller, pid, children, options);
  }

  /** The children of the process, live or ended, in the order of their creation. Throws PROCESS_TERMINATED to itself. */
  async children(caller: Caller, pid: Pid, filter?: ProcessFilter): Promise<ProcessRecord[]> {
    await this.units.assertMayLook(caller);
    return this.queries.children(pid, filter);
  }

  /** Needs `read` on the folder. Answers with the new working directory. Throws INVALID_PATH, CAPABILITY_DENIED. */
  chdir(caller: Caller, pid: Pid, path: string): Promise<string> {
    return this.moving.run(caller, pid, path);
  }

  /** Charges usage to the process and to every budget above it, all or nothing. Throws BUDGET_EXCEEDED. */
  charge(caller: Caller, pid: Pid, usage: Usage): Promise<BudgetReport> {
    return this.budgets.charge(caller, pid, usage);
  }

  /** Sets a ceiling aside before something whose cost is not known. Throws BUDGET_EXCEEDED. */
  reserve(caller: Caller, pid: Pid, usage: Usage, options?: ReserveOptions): Promise<ReservationId> {
    return this.budgets.reserve(caller, pid, usage, options);
  }

  /** The usage of the process and what is left of its budget. Throws PROCESS_TERMINATED to itself. */
  async budget(caller: Caller, pid: Pid): Promise<BudgetReport> {
    await this.units.assertMayLook(caller);
    return this.budgets.report(pid);
  }
}

/** Syscalls upon something that is named in full, by the host or by a process. */
@injectable()
export class TargetSyscalls {
  constructor(
    @inject(Signal) private readonly signalling: Signal,
    @inject(Budgets) private readonly budgets: Budgets,
    @inject(CommandOutput) private readonly output: CommandOutput,
    @inject(Units) private readonly units: Units,
  ) {}

  /**
   * Pauses a process and everything under it. A process signals its own children, and those that it holds the right
   * `signal` on. Throws NOT_A_CHILD, CAPABILITY_DENIED.
   */
  pause(caller: Caller, pid: Pid, reason?: string): Promise<SignalReport> {
    return this.signalling.run(caller, pid, 'pause', { reason });
  }

  /** Resumes a process and everything under it. Throws as `pause`. */
  resume(caller: Caller, pid: Pid): Promise<SignalReport> {
    return this.signalling.run(caller, pid, 'resume');
  }

  /**
   * Stops a process and everything under it. `graceMs`: how long it may take to end before it is ended; default 5,000.
   * Throws as `pause`.
   */
  async cancel(caller: Caller, pid: Pid, reason?: string, options: { graceMs?: number } = {}): Promise<SignalReport> {
    return this.signalling.run(caller, pid, 'cancel', { reason, ...parse(cancelOptions, options, 'options') });
  }

  /** Ends a process and everything under it at once. Throws as `pause`. */
  kill(caller: Caller, pid: Pid, reason?: string): Promise<SignalReport> {
    return this.signalling.run(caller, pid, 'kill', { reason });
  }

  /** Turns a reservation into what was used; what passes the limit is overrun. Throws NO_SUCH_RESERVATION. */
  settle(caller: Caller, reservation: ReservationId, usage: Usage): Promise<BudgetReport> {
    return this.budgets.settle(caller, reservation, usage);
  }

  /**
   * The output of a command, also after its end. A process reads that of its children. Throws NO_SUCH_PROCESS,
   * NOT_A_CHILD, INVALID_TRANSITION for a process that is no command, PROCESS_TERMINATED to a process that has ended.
   */
  async readOutput(caller: Caller, pid: Pid, options?: ReadOutputOptions): Promise<OutputPart> {
    await this.units.assertMayLook(caller);
    return this.output.read(caller, pid, options);
  }

  /**
   * Waits until the output of a command matches; what was written already counts. Throws as `readOutput`, and
   * OUTCOME_UNKNOWN for a command that was lost before it matched.
   */
  async waitOutput(
    caller: Caller,
    pid: Pid,
    pattern: string | RegExp,
    options?: WaitOutputOptions,
  ): Promise<OutputMatch> {
    await this.units.assertMayLook(caller);
    return this.output.wait(caller, pid, pattern, options);
  }
}

/** Syscalls that only a process makes, for itself. */
@injectable()
export class ProcessSyscalls {
  constructor(
    @inject(Send) private readonly sending: Send,
    @inject(Receive) private readonly receiving: Receive,
    @inject(Spawn) private readonly spawning: Spawn,
    @inject(Wait) private readonly waiting: Wait,
    @inject(CommandRuns) private readonly commands: CommandRuns,
    @inject(ExitWait) private readonly exits: ExitWait,
    @inject(Queries) private readonly queries: Queries,
    @inject(Signal) private readonly signalling: Signal,
    @inject(Units) private readonly units: Units,
    @inject(Ask) private readonly asking: Ask,
  ) {}

  /** Asks a person, and waits for the answer. Throws WAIT_TIMEOUT, CANCELLED, TOO_MANY_QUESTIONS, INVALID_INPUT. */
  ask(
    caller: ProcessCaller,
    pid: Pid,
    question: string,
    options?: AskOptions & { readonly schema?: Schema; readonly choices?: readonly JsonValue[] },
  ): Promise<unknown> {
    return this.asking.run(caller, pid, question, options);
  }

  /** The parent that the process has now; null for a root. Throws PROCESS_TERMINATED. */
  async parent(caller: ProcessCaller, pid: Pid): Promise<Pid | null> {
    await this.units.assertMayLook(caller);
    return this.queries.parentOf(pid);
  }

  /**
   * The process itself, a child, or one that it holds the right `read` on. Throws NOT_A_CHILD, for what does not exist
   * too, and PROCESS_TERMINATED to a process that has ended.
   */
  async get(caller: ProcessCaller, _pid: Pid, target: Pid): Promise<ProcessRecord> {
    await this.units.assertMayLook(caller);
    return this.queries.getFor(caller, target);
  }

  /**
   * Sends a user signal to a child, or to a process that it holds the right `signal` on. Throws NOT_A_CHILD,
   * CAPABILITY_DENIED, INVALID_INPUT.
   */
  async signal(
    caller: ProcessCaller,
    _pid: Pid,
    target: Pid,
    signal: UserSignal,
    options: { readonly payload?: JsonValue } = {},
  ): Promise<SignalReport> {
    return this.signalling.run(
      caller,
      target,
      parse(userSignalName, signal, 'signal'),
      parse(payloadOptions, options, 'options'),
    );
  }

  /**
   * Puts a message into the mailbox of a child, the parent, or a process that it holds the right `send` on. A handle in it
   * lets the receiver read the object. Throws CAPABILITY_DENIED, PROCESS_TERMINATED, MAILBOX_FULL, NO_SUCH_OBJECT.
   */
  send(caller: ProcessCaller, pid: Pid, to: Pid, message: MessageBody): Promise<void> {
    return this.sending.run(caller, pid, to, message);
  }

  /** The oldest message, or the next that comes. Throws WAIT_TIMEOUT, CANCELLED, PROCESS_TERMINATED, INVALID_INPUT. */
  receive(
    caller: ProcessCaller,
    pid: Pid,
    options?: ReceiveOptions & { readonly schema?: Schema },
  ): Promise<Message<unknown>> {
    return this.receiving.run(caller, pid, options);
  }

  /** Waits for a child and answers with the value of its result. Throws PROCESS_FAILED, and as `wait`. */
  async value(caller: ProcessCaller, pid: Pid, child: Pid, options?: WaitOptions): Promise<JsonValue | undefined> {
    return exitValueOf(await this.waiting.waitOne(caller, pid, child, options));
  }

  /** Runs an image as a child and answers with the value of its result. Throws as `spawnChild` and `value`. */
  async call(
    caller: ProcessCaller,
    pid: Pid,
    image: ImageReference,
    args?: JsonValue,
    spec: Omit<ChildSpec, 'image' | 'args'> = {},
  ): Promise<JsonValue | undefined> {
    const given = args === undefined ? {} : { args };
    const child = await this.spawning.spawnChild(caller, pid, { ...spec, image, ...given });
    return this.value(caller, pid, child);
  }

  /**
   * Runs a program of the operating system as a child: needs `call` on `command:NAME`, or on `command:abs/PATH` for one
   * with a slash. Throws CAPABILITY_DENIED, INVALID_PATH, BUDGET_EXCEEDED, TOOL_FAILED when it cannot be started,
   * OUTCOME_UNKNOWN.
   */
  async run(caller: ProcessCaller, pid: Pid, spec: CommandSpec): Promise<CommandHandle | CommandResult> {
    const command = await this.commands.begin(caller, spec);
    if (spec.background === true) return { pid: command };
    await this.exits.waitUntil(caller, new Set([command]), 1, pid, {});
    // Held back while the process is paused, as the answer of a wait is.
    await this.units.read(
      { caller, actor: pid, action: 'command.run', target: command, kind: 'act' },
      async () => undefined,
    );
    return this.commands.resultOf(command);
  }
}
