import { inject, injectable } from 'inversify';
import type { Pid } from '../base/ids.js';
import { CapabilityFaces, type ProcessCapabilities } from '../capability/process-capabilities.js';
import { MemoryFaces, type ProcessMemory } from '../memory/object-memory.js';
import type { ProcessCaller, RunHooks } from './act.js';
import type { CommandHandle, CommandResult, CommandSpec } from './command.js';
import {
  CommandOutput,
  type OutputMatch,
  type OutputPart,
  type ReadOutputOptions,
  type WaitOutputOptions,
} from './command-output.js';
import { CommandRuns } from './command-runs.js';
import { EndWait } from './end-wait.js';
import type { Message, MessageBody, ReceiveOptions } from './message.js';
import type { ProcessResult } from './process.js';
import type { ChildSpec, ExecSpec, ExitSpec, ForkSpec, WaitOptions } from './process-manager.js';
import type { SignalReport } from './signal.js';
import { cancelOptions, parse, parsePid } from './specs.js';
import { Chdir } from './syscalls/chdir.js';
import { Exec } from './syscalls/exec.js';
import { Exit } from './syscalls/exit.js';
import { Fork } from './syscalls/fork.js';
import { Receive } from './syscalls/receive.js';
import { Send } from './syscalls/send.js';
import { Signal } from './syscalls/signal.js';
import { SpawnChild } from './syscalls/spawn-child.js';
import { Wait } from './syscalls/wait.js';

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

/** Makes process faces. */
@injectable()
export class ProcessFaces {
  constructor(
    @inject(CapabilityFaces) readonly capabilities: CapabilityFaces,
    @inject(MemoryFaces) readonly memory: MemoryFaces,
    @inject(SpawnChild) readonly spawnChild: SpawnChild,
    @inject(Fork) readonly fork: Fork,
    @inject(Exec) readonly exec: Exec,
    @inject(Exit) readonly exit: Exit,
    @inject(Wait) readonly wait: Wait,
    @inject(Signal) readonly signal: Signal,
    @inject(Send) readonly send: Send,
    @inject(Receive) readonly receive: Receive,
    @inject(Chdir) readonly chdir: Chdir,
    @inject(EndWait) readonly ends: EndWait,
    @inject(CommandRuns) readonly commands: CommandRuns,
    @inject(CommandOutput) readonly output: CommandOutput,
  ) {}

  /** The face of `pid`. Without the hooks of a run it has no journal and no fence: its calls are refused by state only. */
  of(input: Pid, run?: RunHooks): ProcessFace {
    const pid = parsePid(input);
    return new CallerFace({ face: 'process', pid, ...(run === undefined ? {} : { run }) }, this);
  }
}

/** Its calls can be taken out of it, and are made when they are asked for: a face that waits should cost little. */
class CallerFace implements ProcessFace {
  readonly #caller: ProcessCaller;
  readonly #kit: ProcessFaces;

  constructor(caller: ProcessCaller, kit: ProcessFaces) {
    this.#caller = caller;
    this.#kit = kit;
  }

  get pid(): Pid {
    return this.#caller.pid;
  }

  get memory(): ProcessMemory {
    return this.#kit.memory.of(this.pid, this.#caller);
  }

  get capabilities(): ProcessCapabilities {
    return this.#kit.capabilities.of(this.#caller);
  }

  get spawnChild(): ProcessFace['spawnChild'] {
    return async (spec = {}) => this.#kit.spawnChild.run(this.#caller, this.pid, spec);
  }

  get fork(): ProcessFace['fork'] {
    return async (spec = {}) => this.#kit.fork.run(this.#caller, this.pid, spec);
  }

  get exec(): ProcessFace['exec'] {
    return async (spec) => this.#kit.exec.run(this.#caller, this.pid, spec);
  }

  get exit(): ProcessFace['exit'] {
    return async (spec) => this.#kit.exit.run(this.#caller, this.pid, spec);
  }

  get wait(): ProcessFace['wait'] {
    return async (child, options) => this.#kit.wait.one(this.#caller, this.pid, child, options);
  }

  get waitAny(): ProcessFace['waitAny'] {
    return async (children, options) => this.#kit.wait.any(this.#caller, this.pid, children, options);
  }

  get waitAll(): ProcessFace['waitAll'] {
    return async (children, options) => this.#kit.wait.all(this.#caller, this.pid, children, options);
  }

  get kill(): ProcessFace['kill'] {
    return async (child, reason) => this.#signal(child, 'kill', { reason });
  }

  get cancel(): ProcessFace['cancel'] {
    return async (child, reason, options = {}) =>
      this.#signal(child, 'cancel', { reason, ...parse(cancelOptions, options, 'options') });
  }

  get pause(): ProcessFace['pause'] {
    return async (child) => this.#signal(child, 'pause');
  }

  get resume(): ProcessFace['resume'] {
    return async (child) => this.#signal(child, 'resume');
  }

  get send(): ProcessFace['send'] {
    return async (to, message) => this.#kit.send.run(this.#caller, this.pid, to, message);
  }

  get receive(): ProcessFace['receive'] {
    return async (options) => this.#kit.receive.run(this.#caller, this.pid, options);
  }

  get chdir(): ProcessFace['chdir'] {
    return async (path) => this.#kit.chdir.run(this.#caller, this.pid, path);
  }

  get run(): ProcessFace['run'] {
    const { commands, ends } = this.#kit;
    const run = async (spec: CommandSpec) => {
      const pid = await commands.begin(this.#caller, spec);
      if (spec.background === true) return { pid };
      await ends.until(this.#caller, new Set([pid]), 1, this.pid, {});
      return commands.result(pid);
    };
    return run as RunCommand;
  }

  get readOutput(): ProcessFace['readOutput'] {
    return async (child, options) => this.#kit.output.read(this.#caller, child, options);
  }

  get waitOutput(): ProcessFace['waitOutput'] {
    return async (child, pattern, options) => this.#kit.output.wait(this.#caller, child, pattern, options);
  }

  #signal(child: Pid, signal: string, options: object = {}): Promise<SignalReport> {
    return this.#kit.signal.run(this.#caller, child, signal, options);
  }
}
