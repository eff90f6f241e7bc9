import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { inject, injectable } from 'inversify';
import { ToolError } from '../../base/errors.js';
import { IdSource, type Pid } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import type { WriteTx } from '../../base/store.js';
import { SpawnGate } from '../../kernel/lifecycle/spawn-gate.js';
import { type NewProcess, Spawning } from '../../kernel/lifecycle/spawning.js';
import { anonymousCommandImage } from '../../kernel/process/images.js';
import type { ProcessResult } from '../../kernel/process/process.js';
import { Signal } from '../../kernel/syscalls/signal.js';
import { Wait } from '../../kernel/syscalls/wait.js';
import { KernelFiles } from '../../kernel/workspace/kernel-files.js';
import { invalidPath, ofKernel, Workspace } from '../../kernel/workspace/working-directory.js';
import { NodeLease } from '../../runtime/node/node-lease.js';
import type { Act } from '../../unit/act.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { OutputFiles } from '../output/output-files.js';
import { writeRing } from '../output/ring-file.js';
import { CommandPlanner } from '../plan/command-planner.js';
import type { PlannedCommand } from '../plan/planned-command.js';
import { realPath } from '../plan/programs.js';
import type { DrivenCommand } from './command-driver.js';
import { CommandDrivers } from './command-drivers.js';
import { CommandRecorder } from './command-recorder.js';
import { launchOf } from './launch.js';

const errorsAfterEndMs = 1_000;

/** A program of the host whose input and output are pipes, such as an MCP server. */
export interface PipedSpec {
  /** The name of its process. */
  readonly name: string;
  readonly argv: readonly string[];
  /** Absolute, or relative to the workspace; default: the workspace. */
  readonly cwd?: string;
  /** Added to the clean environment of commands. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The program while it runs. The newest part of its stderr is in its error file. */
export interface PipedCommand {
  readonly pid: Pid;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when its process has ended, whoever ended it. */
  readonly ended: Promise<ProcessResult>;
}

/** Runs programs of the host: each is a root command process, stopped, guarded and recovered like any other. */
@injectable()
export class PipedCommands {
  constructor(
    @inject(Workspace) private readonly workspace: string,
    @inject(KernelFiles) private readonly kernelFiles: KernelFiles,
    @inject(Units) private readonly units: Units,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(Spawning) private readonly spawning: Spawning,
    @inject(Signal) private readonly signal: Signal,
    @inject(Wait) private readonly wait: Wait,
    @inject(CommandPlanner) private readonly planner: CommandPlanner,
    @inject(CommandRecorder) private readonly commandRecorder: CommandRecorder,
    @inject(CommandDrivers) private readonly drivers: CommandDrivers,
    @inject(OutputFiles) private readonly files: OutputFiles,
    @inject(SpawnGate) private readonly gate: SpawnGate,
  ) {}

  /** Throws INVALID_INPUT, SPAWN_REFUSED, and TOOL_FAILED when it cannot be started. */
  async start({ name, argv, cwd = '.', env = {} }: PipedSpec): Promise<PipedCommand> {
    const spec = this.planner.parse({ argv, env }, 'spec');
    const folder = path.resolve(this.workspace, cwd);
    const real = realPath(folder) ?? folder;
    if (this.kernelFiles.includesFolder(real, path.parse(real).root)) throw invalidPath(cwd, ofKernel);
    const plan = this.planner.plan(spec, { folder: real, asker: null, inherited: {} }, this.planner.placeOf('.'));
    const call: Call = { caller: hostCaller, actor: 'host', action: 'process.spawn' };
    const { args } = plan;
    await this.gate.check(call, null, { ...namesOf(name), image: anonymousCommandImage, args });
    await this.lease.acquire();
    const driver = this.drivers.register(this.ids.next('process'));
    try {
      const command = await this.units.commit(call, (tx, act) => this.createProcess(tx, act, driver.pid, name, plan));
      const launch = { ...launchOf(plan, real), isPiped: true };
      const child = await this.drivers.start(driver, command, launch);
      const piped = await this.toPipedCommand(driver.pid, child?.stdin, child?.stdout);
      if (child?.stderr != null) this.keepErrors(child.stderr, command.row.n, piped.ended);
      return piped;
    } catch (error) {
      this.drivers.forget(driver);
      throw error;
    }
  }

  /** Stops it and everything that it has started, within 2 s. */
  async stop({ pid, ended }: PipedCommand, reason: string): Promise<void> {
    await this.signal.run(hostCaller, pid, 'cancel', { reason });
    await ended;
  }

  /** Others that hold the pipe are not listened to for longer than a moment after the end of the program. */
  private keepErrors(stderr: Readable, rowNumber: number, ended: Promise<unknown>): void {
    void writeRing(stderr, this.files.of(rowNumber).errorFile);
    const close = () => void setTimeout(() => stderr.destroy(), errorsAfterEndMs).unref();
    void ended.then(close, close);
  }

  private async createProcess(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    name: string,
    plan: PlannedCommand,
  ): Promise<DrivenCommand> {
    await this.lease.assertLive(tx);
    const { row, command } = await this.spawning.create(tx, act, {
      pid,
      parent: null,
      image: anonymousCommandImage,
      args: plan.shown,
      goal: { payload: {} },
      cwd: '.',
      ...namesOf(name),
      queue: null,
      externalRef: null,
      env: null,
      budget: {},
      onBudget: 'refuse',
      deadlineMs: null,
      onParentExit: 'cancel',
      held: false,
      registration: null,
      authority: { grants: [] },
      fork: null,
      command: plan,
      node: this.node.nodeId,
    });
    if (command === undefined) throw new Error('A command process has no command row.');
    await this.commandRecorder.recordIntent(tx, act, row, command, plan.shownEnvironment);
    return { row, token: command.token, survive: false, hasOutputLimit: false, isAwaited: false };
  }

  private async toPipedCommand(
    pid: Pid,
    stdin: PipedCommand['stdin'] | null | undefined,
    stdout: PipedCommand['stdout'] | null | undefined,
  ): Promise<PipedCommand> {
    const ended: Promise<ProcessResult> = this.wait.waitResult(pid);
    // It may reject before anybody waits for it.
    ended.catch(() => undefined);
    if (stdin != null && stdout != null) return { pid, stdin, stdout, ended };
    const { outcome } = await ended;
    throw new ToolError('TOOL_FAILED', `Command ${pid} was not started.`, {
      facts: { pid, errno: outcome.evidence?.errno ?? null },
      hint: 'See whether the program is there and may be executed, and whether its folder is.',
    });
  }
}

/** The names of the process of a program of the host. */
function namesOf(name: string): Pick<NewProcess, 'name' | 'labels' | 'owner'> {
  return { name: name.slice(0, 256), labels: null, owner: null };
}
