import path from 'node:path';
import { inject, injectable } from 'inversify';
import { ToolError } from '../../base/errors.js';
import { IdSource, type Pid } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import type { WriteTx } from '../../base/store.js';
import { Spawning } from '../../kernel/lifecycle/spawning.js';
import { anonymousCommandImage } from '../../kernel/process/images.js';
import type { ProcessResult } from '../../kernel/process/process.js';
import { Signal } from '../../kernel/syscalls/signal.js';
import { Wait } from '../../kernel/syscalls/wait.js';
import { Workspace } from '../../kernel/workspace/working-directory.js';
import { NodeLease } from '../../runtime/node/node-lease.js';
import type { Act } from '../../unit/act.js';
import { hostCaller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { CommandPlanner, type PlannedCommand } from '../plan/command-planner.js';
import { realPath } from '../plan/programs.js';
import type { DrivenCommand } from './command-driver.js';
import { CommandDrivers } from './command-drivers.js';
import { CommandRecords } from './command-records.js';
import { environmentFor, launchOf } from './command-runner.js';
import type { PipedCommand, PipedCommands, PipedSpec } from './piped-commands.js';

/** Programs of the host: root commands, whose input and output are pipes. */
@injectable()
export class SystemPipedCommands implements PipedCommands {
  constructor(
    @inject(Workspace) private readonly workspace: string,
    @inject(Units) private readonly units: Units,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(Spawning) private readonly births: Spawning,
    @inject(Signal) private readonly signals: Signal,
    @inject(Wait) private readonly waits: Wait,
    @inject(CommandPlanner) private readonly planner: CommandPlanner,
    @inject(CommandRecords) private readonly records: CommandRecords,
    @inject(CommandDrivers) private readonly drivers: CommandDrivers,
  ) {}

  async start(given: PipedSpec): Promise<PipedCommand> {
    const { name, argv, cwd = '.', env = {} } = given;
    const spec = this.planner.parse({ argv, env }, 'spec');
    const folder = path.resolve(this.workspace, cwd);
    const real = realPath(folder) ?? folder;
    const plan = this.planner.plan(spec, real, null);
    await this.lease.hold();
    const driver = this.drivers.prepare(this.ids.next('process'));
    try {
      const command = await this.units.commit(
        { caller: hostCaller, actor: 'host', action: 'process.spawn' },
        (tx, act) => this.bear(tx, act, driver.pid, name, plan),
      );
      const launch = { ...launchOf(spec, plan, real, environmentFor(spec, {}, command.token)), isPiped: true };
      const child = await this.drivers.start(driver, command, launch);
      return await this.piped(driver.pid, child?.stdin, child?.stdout);
    } catch (error) {
      this.drivers.forget(driver);
      throw error;
    }
  }

  async stop({ pid, ended }: PipedCommand, reason: string): Promise<void> {
    await this.signals.run(hostCaller, pid, 'cancel', { reason });
    await ended;
  }

  private async bear(tx: WriteTx, act: Act, pid: Pid, name: string, plan: PlannedCommand): Promise<DrivenCommand> {
    await this.lease.assertLive(tx);
    const { row, command } = await this.births.create(tx, act, {
      pid,
      parent: null,
      image: anonymousCommandImage,
      args: plan.shown,
      goal: { payload: {} },
      cwd: '.',
      name: name.slice(0, 256),
      labels: null,
      owner: null,
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
    if (command === undefined) throw new Error('A command is born with its row.');
    this.records.intend(tx, act, row, command);
    return { row, token: command.token, survive: false, isLimited: false, isAwaited: false };
  }

  private async piped(
    pid: Pid,
    stdin: PipedCommand['stdin'] | null | undefined,
    stdout: PipedCommand['stdout'] | null | undefined,
  ): Promise<PipedCommand> {
    const ended: Promise<ProcessResult> = this.waits.result(pid);
    // Nobody has to wait for it.
    ended.catch(() => undefined);
    if (stdin != null && stdout != null) return { pid, stdin, stdout, ended };
    const { outcome } = await ended;
    throw new ToolError('TOOL_FAILED', `Command ${pid} was not started.`, {
      facts: { pid, errno: outcome.evidence?.errno ?? null },
      hint: 'See whether the program is there and may be executed, and whether its folder is.',
    });
  }
}
