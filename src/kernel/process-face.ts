import { inject, injectable } from 'inversify';
import { ProcessError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { Capability } from '../capability/capability.js';
import { CapabilityManager, type Decision, type Explanation } from '../capability/capability-manager.js';
import type { Right } from '../capability/rights.js';
import type { ObjectRef } from '../memory/object-handle.js';
import { ObjectMemory, type StoredObject } from '../memory/object-memory.js';
import type { Caller } from './act.js';
import { Lookup } from './lookup.js';
import type { ProcessResult } from './process.js';
import type { ChildSpec, ExecSpec, ExitSpec, ForkSpec, WaitOptions } from './process-manager.js';
import { ProcessRepository } from './process-repository.js';
import type { SignalReport } from './signal.js';
import { parsePid } from './specs.js';
import { Chdir } from './syscalls/chdir.js';
import { Exec } from './syscalls/exec.js';
import { Exit } from './syscalls/exit.js';
import { Fork } from './syscalls/fork.js';
import { Signal } from './syscalls/signal.js';
import { SpawnChild } from './syscalls/spawn-child.js';
import { Wait } from './syscalls/wait.js';
import { Units } from './units.js';

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
  /** Signals go to own children only. Throws NOT_A_CHILD. */
  kill(child: Pid, reason?: string): Promise<SignalReport>;
  cancel(child: Pid, reason?: string): Promise<SignalReport>;
  pause(child: Pid): Promise<SignalReport>;
  resume(child: Pid): Promise<SignalReport>;
  /** Needs `read` on the folder. Throws INVALID_PATH, CAPABILITY_DENIED. */
  chdir(path: string): Promise<string>;
  readonly memory: { read(ref: ObjectRef): Promise<StoredObject> };
  readonly capabilities: {
    list(): Promise<Capability[]>;
    check(right: Right, resource: string, args?: JsonValue): Promise<Decision>;
    explain(right: Right, resource: string, args?: JsonValue): Promise<Explanation>;
  };
}

/** Makes process faces. */
@injectable()
export class ProcessFaces {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Lookup) private readonly lookup: Lookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CapabilityManager) private readonly capabilities: CapabilityManager,
    @inject(ObjectMemory) private readonly memory: ObjectMemory,
    @inject(SpawnChild) private readonly spawnChild: SpawnChild,
    @inject(Fork) private readonly fork: Fork,
    @inject(Exec) private readonly exec: Exec,
    @inject(Exit) private readonly exit: Exit,
    @inject(Wait) private readonly wait: Wait,
    @inject(Signal) private readonly signal: Signal,
    @inject(Chdir) private readonly chdir: Chdir,
  ) {}

  /** The face of `pid`. No journal and no fence: its calls are refused by state only. */
  of(input: Pid): ProcessFace {
    const pid = parsePid(input);
    const caller = { face: 'process', pid } as const;
    const send = async (child: Pid, signal: string, reason?: string) => {
      await this.assertChild(caller, child, `process.${signal}`);
      return this.signal.run(caller, child, signal, { reason });
    };
    return {
      pid,
      spawnChild: async (spec = {}) => this.spawnChild.run(caller, pid, spec),
      fork: async (spec = {}) => this.fork.run(caller, pid, spec),
      exec: async (spec) => this.exec.run(caller, pid, spec),
      exit: async (spec) => this.exit.run(caller, pid, spec),
      wait: async (child, options) => this.wait.one(caller, pid, child, options),
      waitAny: async (children, options) => this.wait.any(caller, pid, children, options),
      waitAll: async (children, options) => this.wait.all(caller, pid, children, options),
      kill: async (child, reason) => send(child, 'kill', reason),
      cancel: async (child, reason) => send(child, 'cancel', reason),
      pause: async (child) => send(child, 'pause'),
      resume: async (child) => send(child, 'resume'),
      chdir: async (path) => this.chdir.run(caller, pid, path),
      memory: { read: async (ref) => this.memory.read(pid, ref) },
      capabilities: {
        list: async () => this.capabilities.list(pid),
        check: async (right, resource, args) => this.capabilities.check(pid, right, resource, args),
        explain: async (right, resource, args) => this.capabilities.explain(pid, right, resource, args),
      },
    };
  }

  /** A stranger and a pid that does not exist answer alike. Throws NOT_A_CHILD, PROCESS_TERMINATED. */
  private async assertChild(caller: Caller & { face: 'process' }, input: Pid, action: string): Promise<void> {
    const { pid } = caller;
    const child = parsePid(input, 'child');
    await this.units.look({ caller, actor: pid, action, target: child }, async (tx) => {
      await this.lookup.live(tx, pid);
      const row = await this.processes.find(tx, child);
      if (row?.parent !== pid) throw notAChild(pid, child);
    });
  }
}

function notAChild(pid: Pid, child: Pid): ProcessError {
  return new ProcessError('NOT_A_CHILD', `Process ${pid} has no child ${JSON.stringify(child)}.`, {
    facts: { pid, child },
    hint: 'A process signals its own children.',
  });
}
