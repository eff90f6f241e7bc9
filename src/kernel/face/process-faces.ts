import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { CapabilityFaces, type ProcessCapabilities } from '../../capability/process-capabilities.js';
import { MemoryFaces, type ProcessMemory } from '../../memory/object-memory.js';
import type { ProcessCaller, RunHooks } from '../../unit/caller.js';
import type { CommandSpec } from '../command/command.js';
import { CommandOutput } from '../command/command-output.js';
import { CommandRuns } from '../command/command-runs.js';
import type { SignalReport } from '../signal/signal.js';
import { cancelOptions, parse, parsePid } from '../specs.js';
import { Budgets } from '../syscalls/budgets.js';
import { Chdir } from '../syscalls/chdir.js';
import { Exec } from '../syscalls/exec.js';
import { Exit } from '../syscalls/exit.js';
import { Fork } from '../syscalls/fork.js';
import { Queries } from '../syscalls/queries.js';
import { Receive } from '../syscalls/receive.js';
import { Send } from '../syscalls/send.js';
import { Signal } from '../syscalls/signal.js';
import { SpawnChild } from '../syscalls/spawn-child.js';
import { Wait } from '../syscalls/wait.js';
import { ExitWait } from '../waiting/exit-wait.js';
import type { ProcessFace, RunCommand } from './process-face.js';
import type { ProcessTools } from './process-tools.js';
import { ToolGate } from './tool-gate.js';

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
    @inject(Queries) readonly queries: Queries,
    @inject(Signal) readonly signal: Signal,
    @inject(Send) readonly send: Send,
    @inject(Receive) readonly receive: Receive,
    @inject(Chdir) readonly chdir: Chdir,
    @inject(Budgets) readonly budgets: Budgets,
    @inject(ToolGate) readonly tools: ToolGate,
    @inject(ExitWait) readonly ends: ExitWait,
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

  get tools(): ProcessTools {
    const caller = this.#caller;
    const gate = this.#kit.tools;
    return {
      list: async () => gate.list(caller),
      call: async (name, args = {}, options = {}) => gate.call({ caller, face: this, name, args, options }),
    };
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

  get children(): ProcessFace['children'] {
    return async (filter) => this.#kit.queries.children(this.pid, filter);
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

  get charge(): ProcessFace['charge'] {
    return async (usage) => this.#kit.budgets.charge(this.#caller, this.pid, usage);
  }

  get reserve(): ProcessFace['reserve'] {
    return async (usage, options) => this.#kit.budgets.reserve(this.#caller, this.pid, usage, options);
  }

  get settle(): ProcessFace['settle'] {
    return async (reservation, usage) => this.#kit.budgets.settle(this.#caller, reservation, usage);
  }

  get budget(): ProcessFace['budget'] {
    return async () => this.#kit.budgets.report(this.pid);
  }

  #signal(child: Pid, signal: string, options: object = {}): Promise<SignalReport> {
    return this.#kit.signal.run(this.#caller, child, signal, options);
  }
}
