import type { Pid, ReservationId } from '../../base/ids.js';
import type { ProcessCapabilities } from '../../capability/process-capabilities.js';
import type { ProcessMemory } from '../../memory/object-memory.js';
import type { BudgetReport, ReserveOptions, Usage } from '../budget/budget.js';
import type { CommandHandle, CommandResult, CommandSpec } from '../command/command.js';
import type { OutputMatch, OutputPart, ReadOutputOptions, WaitOutputOptions } from '../command/command-output.js';
import type { Message, MessageBody, ReceiveOptions } from '../message/message.js';
import type { ProcessRecord, ProcessResult } from '../process/process.js';
import type { ProcessFilter } from '../process/process-filter.js';
import type { SignalReport } from '../signal/signal.js';
import type { ChildSpec, ExecSpec, ExitSpec, ForkSpec, WaitOptions } from './process-manager.js';
import type { ProcessTools } from './process-tools.js';

/** What one process may do: the same syscalls, acting as that process and nobody else. */
export interface ProcessFace {
  readonly pid: Pid;
  spawnChild(spec?: ChildSpec): Promise<Pid>;
  fork(spec?: ForkSpec): Promise<Pid>;
  exec(spec: ExecSpec): Promise<void>;
  exit(spec?: ExitSpec): Promise<void>;
  wait(child: Pid, options?: WaitOptions): Promise<ProcessResult>;
  waitAny(children?: readonly Pid[], options?: WaitOptions): Promise<ProcessResult>;
  waitAll(children?: readonly Pid[], options?: WaitOptions): Promise<ProcessResult[]>;
  /** Its own children, live or ended, in order of birth. */
  children(filter?: ProcessFilter): Promise<ProcessRecord[]>;
  /** Signals go to own children, and to those that it holds the right `signal` on. Throws NOT_A_CHILD, CAPABILITY_DENIED. */
  kill(child: Pid, reason?: string): Promise<SignalReport>;
  /** `graceMs`: how long it may take to end before it is killed; default 5,000. */
  cancel(child: Pid, reason?: string, options?: { graceMs?: number }): Promise<SignalReport>;
  pause(child: Pid): Promise<SignalReport>;
  resume(child: Pid): Promise<SignalReport>;
  /**
   * Puts a message into the mailbox of a child, the parent, or one that it holds the right `send` on. A handle in it gives
   * the receiver the reading of the object. Throws CAPABILITY_DENIED, PROCESS_TERMINATED, MAILBOX_FULL, NO_SUCH_OBJECT.
   */
  send(to: Pid, message: MessageBody): Promise<void>;
  /** The oldest message, or the next that comes. Throws WAIT_TIMEOUT, CANCELLED, PROCESS_TERMINATED. */
  receive(options?: ReceiveOptions): Promise<Message>;
  /** Needs `read` on the folder. Throws INVALID_PATH, CAPABILITY_DENIED. */
  chdir(path: string): Promise<string>;
  /** Spends of its own budget and of those above, all or nothing. Throws BUDGET_EXCEEDED. */
  charge(usage: Usage): Promise<BudgetReport>;
  /** Sets a ceiling aside before something whose cost is not known. Throws BUDGET_EXCEEDED. */
  reserve(usage: Usage, options?: ReserveOptions): Promise<ReservationId>;
  /** Turns a reservation of its own into what was used; what passes the limit is overrun. Throws NO_SUCH_RESERVATION. */
  settle(reservation: ReservationId, usage: Usage): Promise<BudgetReport>;
  /** What it has used and has left. */
  budget(): Promise<BudgetReport>;
  readonly tools: ProcessTools;
  /**
   * Runs a program of the operating system as a child: needs `call` on `command:NAME`, or on `command:abs/PATH` for one with a
   * slash. Throws CAPABILITY_DENIED, INVALID_PATH, BUDGET_EXCEEDED, TOOL_FAILED when it cannot be started, OUTCOME_UNKNOWN.
   */
  readonly run: RunCommand;
  /** What a child that is a command has written. Throws NOT_A_CHILD, INVALID_TRANSITION. */
  readOutput(child: Pid, options?: ReadOutputOptions): Promise<OutputPart>;
  /** Waits until a child that is a command has written something. Throws as `readOutput`. */
  waitOutput(child: Pid, pattern: string | RegExp, options?: WaitOutputOptions): Promise<OutputMatch>;
  readonly memory: ProcessMemory;
  readonly capabilities: ProcessCapabilities;
}

/** With `background: true` the answer is a handle, at once. */
export interface RunCommand {
  (spec: CommandSpec & { readonly background: true }): Promise<CommandHandle>;
  (spec: CommandSpec): Promise<CommandResult>;
}
