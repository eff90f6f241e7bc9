import path from 'node:path';
import { inject, injectable } from 'inversify';
import { ProcessError, ToolError } from '../../base/errors.js';
import { IdSource, type Pid } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { Question } from '../../capability/decision/question.js';
import { Accounts } from '../../kernel/budget/accounts.js';
import type { CommandResult } from '../../kernel/command/command.js';
import type { CommandRuns } from '../../kernel/command/command-runs.js';
import { SpawnExtrasRepository } from '../../kernel/lifecycle/spawn-extras-repository.js';
import { type NewProcess, Spawning } from '../../kernel/lifecycle/spawning.js';
import { anonymousCommandImage } from '../../kernel/process/images.js';
import type { OwnerKeys, ProcessRow } from '../../kernel/process/process.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import { FolderAccess } from '../../kernel/workspace/folder-access.js';
import { ObjectRepository } from '../../memory/object/object-repository.js';
import { NodeLease } from '../../runtime/node/node-lease.js';
import type { Act } from '../../unit/act.js';
import type { Call, ProcessCaller } from '../../unit/caller.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import { CommandPlanner, type ParsedCommand, type PlannedCommand } from '../plan/command-planner.js';
import { environmentOf } from '../plan/environment.js';
import type { CommandDriver, DrivenCommand } from './command-driver.js';
import { CommandDrivers } from './command-drivers.js';
import { CommandRecords } from './command-records.js';
import type { Launch } from './launch.js';

/** What was looked at before the unit. */
interface Shaped {
  /** The working directory of the process then. */
  readonly from: string;
  readonly cwd: string;
  /** The real path of `cwd`. */
  readonly real: string;
  readonly folder?: Question;
  readonly plan: PlannedCommand;
}

/** What is to be started once the unit has committed. */
interface Ready {
  readonly command: DrivenCommand;
  readonly launch: Launch;
}

/** Commands that processes run. */
@injectable()
export class CommandRunner implements CommandRuns {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(FolderAccess) private readonly access: FolderAccess,
    @inject(Spawning) private readonly births: Spawning,
    @inject(SpawnExtrasRepository) private readonly environments: SpawnExtrasRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(CommandPlanner) private readonly planner: CommandPlanner,
    @inject(CommandRecords) private readonly records: CommandRecords,
    @inject(CommandDrivers) private readonly drivers: CommandDrivers,
  ) {}

  async begin(caller: ProcessCaller, given: unknown): Promise<Pid> {
    const spec = this.planner.parse(given, 'spec');
    await this.lease.hold();
    const driver = this.drivers.prepare(this.ids.next('process'));
    try {
      const { command, launch } = await this.born(caller, spec, driver);
      // Whatever becomes of it stands in the table.
      const starting = this.drivers.start(driver, command, launch).catch(() => undefined);
      if (spec.background) await starting;
      return driver.pid;
    } catch (error) {
      this.drivers.forget(driver);
      throw error;
    }
  }

  result(pid: Pid): Promise<CommandResult> {
    return this.store.read(async (tx) => {
      const row = await this.lookup.any(tx, pid);
      const object = row.result === null ? undefined : await this.objects.find(tx, row.result);
      if (row.outcome?.reason === 'not_started') throw notStarted(row);
      if (row.outcome?.kind === 'abandoned' || object === undefined) throw outcomeUnknown(row);
      return object.payload as object as CommandResult;
    });
  }

  private async born(caller: ProcessCaller, spec: ParsedCommand, driver: CommandDriver): Promise<Ready> {
    const { pid } = caller;
    const call: Call = { caller, actor: pid, action: 'command.run', target: pid };
    let ready: Ready | undefined;
    await this.units.commitPrepared(
      call,
      async () => this.shape(caller, spec, await this.units.read(call, (tx) => this.lookup.spawnable(tx, pid))),
      async (tx, act, shaped) => {
        const parent = await this.lookup.spawnable(tx, pid);
        if (parent.cwd !== shaped.from) throw new OutdatedPreparation(pid);
        await this.lease.assertLive(tx);
        ready = await this.bear(tx, act, parent, spec, shaped, driver.pid);
        return driver.pid;
      },
    );
    if (ready === undefined) throw new Error('A unit that has committed has made a command.');
    return ready;
  }

  private async shape(caller: ProcessCaller, spec: ParsedCommand, { pid, cwd: from }: ProcessRow): Promise<Shaped> {
    if (spec.cwd === undefined) {
      const real = this.planner.folder(from);
      return { from, cwd: from, real, plan: this.planner.plan(spec, real, pid) };
    }
    const folder = await this.access.find(caller, 'command.run', from, spec.cwd);
    const real = this.planner.folder(folder.cwd);
    return { from, ...folder, real, plan: this.planner.plan(spec, real, pid) };
  }

  private async bear(
    tx: WriteTx,
    act: Act,
    parent: ProcessRow,
    spec: ParsedCommand,
    { plan, cwd, real, folder }: Shaped,
    pid: Pid,
  ): Promise<Ready> {
    const birth: NewProcess = {
      pid,
      parent,
      image: anonymousCommandImage,
      args: plan.shown,
      trueArgs: plan.args,
      goal: { payload: {} },
      cwd,
      ...(folder === undefined ? {} : { folder }),
      name: nameOf(spec.argv),
      labels: null,
      owner: (spec.owner as OwnerKeys | undefined) ?? null,
      env: null,
      budget: {},
      onBudget: 'refuse',
      deadlineMs: spec.timeoutMs ?? null,
      onParentExit: 'cancel',
      held: false,
      registration: null,
      authority: { delegate: [] },
      fork: null,
      command: plan,
      node: this.node.nodeId,
    };
    const { row, command } = await this.births.create(tx, act, birth);
    if (command === undefined) throw new Error('A command is born with its row.');
    this.records.intend(tx, act, row, command);
    const inherited = parent.env === null ? undefined : await this.environments.findEnvironment(tx, parent.env);
    const { token, survive } = command;
    const isLimited = (await this.accounts.report(tx, row, act.at)).outputBytes.left !== null;
    return {
      command: { row, token, survive, isLimited, isAwaited: !command.background && !survive },
      launch: launchOf(spec, plan, real, environmentFor(spec, inherited ?? {}, token)),
    };
  }
}

export function launchOf(
  { argv, stdin }: Pick<ParsedCommand, 'argv' | 'stdin'>,
  { file }: Pick<PlannedCommand, 'file'>,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Launch {
  return { argv, cwd, env, ...(file === undefined ? {} : { file }), ...(stdin === undefined ? {} : { stdin }) };
}

/** `inherited` is what the process was spawned with. */
export function environmentFor(
  { env = {}, envMode = 'clean' }: Pick<ParsedCommand, 'env' | 'envMode'>,
  inherited: Readonly<Record<string, string>>,
  token: string,
): Record<string, string> {
  return environmentOf({ mode: envMode, kernel: process.env, inherited, given: env, token });
}

/** The program without its folder, for people. */
function nameOf([program = '']: readonly string[]): string {
  return path.basename(program).slice(0, 256);
}

function notStarted({ pid, outcome }: ProcessRow): ToolError {
  const { errno = null, message = 'It could not be started.' } = outcome?.evidence ?? {};
  return new ToolError('TOOL_FAILED', `Command ${pid} was not started. ${message}`, {
    facts: { pid, errno },
    hint: 'See whether the program is there and may be executed, and whether its folder is.',
  });
}

function outcomeUnknown({ pid, outcome }: ProcessRow): ProcessError {
  return new ProcessError('OUTCOME_UNKNOWN', `How command ${pid} has ended is not known.`, {
    facts: { pid, reason: outcome?.reason ?? null },
    hint: 'Its kernel was gone when it ended: processes.readOutput shows what it has written. Find out, then decide.',
  });
}
