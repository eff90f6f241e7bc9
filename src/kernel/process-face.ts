import { inject, injectable } from 'inversify';
import type { Pid } from '../base/ids.js';
import { CapabilityFaces, type ProcessCapabilities } from '../capability/process-capabilities.js';
import { MemoryFaces, type ProcessMemory } from '../memory/object-memory.js';
import type { ProcessCaller, RunHooks } from './act.js';
import type { Message, MessageBody, ReceiveOptions } from './message.js';
import type { ProcessResult } from './process.js';
import type { ChildSpec, ExecSpec, ExitSpec, ForkSpec, WaitOptions } from './process-manager.js';
import type { SignalReport } from './signal.js';
import { parsePid } from './specs.js';
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
  cancel(child: Pid, reason?: string): Promise<SignalReport>;
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
  readonly memory: ProcessMemory;
  readonly capabilities: ProcessCapabilities;
}

/** Makes process faces. */
@injectable()
export class ProcessFaces {
  constructor(
    @inject(CapabilityFaces) private readonly capabilities: CapabilityFaces,
    @inject(MemoryFaces) private readonly memory: MemoryFaces,
    @inject(SpawnChild) private readonly spawnChild: SpawnChild,
    @inject(Fork) private readonly fork: Fork,
    @inject(Exec) private readonly exec: Exec,
    @inject(Exit) private readonly exit: Exit,
    @inject(Wait) private readonly wait: Wait,
    @inject(Signal) private readonly signal: Signal,
    @inject(Send) private readonly send: Send,
    @inject(Receive) private readonly receive: Receive,
    @inject(Chdir) private readonly chdir: Chdir,
  ) {}

  /** The face of `pid`. Without the hooks of a run it has no journal and no fence: its calls are refused by state only. */
  of(input: Pid, run?: RunHooks): ProcessFace {
    const pid = parsePid(input);
    const caller: ProcessCaller = { face: 'process', pid, ...(run === undefined ? {} : { run }) };
    const signalled = async (child: Pid, signal: string, reason?: string) =>
      this.signal.run(caller, child, signal, { reason });
    return {
      pid,
      spawnChild: async (spec = {}) => this.spawnChild.run(caller, pid, spec),
      fork: async (spec = {}) => this.fork.run(caller, pid, spec),
      exec: async (spec) => this.exec.run(caller, pid, spec),
      exit: async (spec) => this.exit.run(caller, pid, spec),
      wait: async (child, options) => this.wait.one(caller, pid, child, options),
      waitAny: async (children, options) => this.wait.any(caller, pid, children, options),
      waitAll: async (children, options) => this.wait.all(caller, pid, children, options),
      kill: async (child, reason) => signalled(child, 'kill', reason),
      cancel: async (child, reason) => signalled(child, 'cancel', reason),
      pause: async (child) => signalled(child, 'pause'),
      resume: async (child) => signalled(child, 'resume'),
      send: async (to, message) => this.send.run(caller, pid, to, message),
      receive: async (options) => this.receive.run(caller, pid, options),
      chdir: async (path) => this.chdir.run(caller, pid, path),
      memory: this.memory.of(pid, caller),
      capabilities: this.capabilities.of(caller),
    };
  }
}
