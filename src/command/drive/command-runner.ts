import path from 'node:path';
import { inject, injectable } from 'inversify';
import { Commitments } from '../../base/commitments.js';
import { ToolError } from '../../base/errors.js';
import { IdSource, type Pid } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import { AnswerEdited } from '../../capability/approval/approval-errors.js';
import { ApprovalLookup } from '../../capability/approval/approval-lookup.js';
import { EditedAnswers } from '../../capability/approval/edited-answers.js';
import { hashOfArgs } from '../../capability/decision/decide.js';
import type { Question } from '../../capability/decision/question.js';
import { Accounts } from '../../kernel/budget/accounts.js';
import type { CommandResult } from '../../kernel/command/command.js';
import type { CommandRuns } from '../../kernel/command/command-ports.js';
import { InheritedEnvironments } from '../../kernel/command/inherited-environments.js';
import { SpawnGate } from '../../kernel/lifecycle/spawn-gate.js';
import { type NewProcess, Spawning } from '../../kernel/lifecycle/spawning.js';
import { anonymousCommandImage } from '../../kernel/process/images.js';
import type { OwnerKeys, ProcessRow } from '../../kernel/process/process.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import { type Folder, FolderAccess } from '../../kernel/workspace/folder-access.js';
import { workspacePath } from '../../kernel/workspace/working-directory.js';
import { ObjectRepository } from '../../memory/object/object-repository.js';
import { NodeLease } from '../../runtime/node/node-lease.js';
import type { Act } from '../../unit/act.js';
import type { Call, ProcessCaller } from '../../unit/caller.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import { outcomeUnknown } from '../command-errors.js';
import { CommandPlanner } from '../plan/command-planner.js';
import type { ParsedCommand, PlannedCommand } from '../plan/planned-command.js';
import type { CommandDriver, DrivenCommand } from './command-driver.js';
import { CommandDrivers } from './command-drivers.js';
import { CommandRecorder, type EditedIntent } from './command-recorder.js';
import { type EditedCommand, editCommand } from './edited-command.js';
import { type Launch, launchOf } from './launch.js';

/** A run whose folder and program were found before the unit. */
interface PreparedRun {
  /** The working directory of the process at that time. */
  readonly parentCwd: string;
  readonly cwd: string;
  /** The real path of `cwd`. */
  readonly realCwd: string;
  /** The authority to read `cwd`, where the caller has chosen it. */
  readonly folderQuestion?: Question;
  readonly plan: PlannedCommand;
  /** The arguments of a person that it was planned with. */
  readonly edit?: EditedCommand;
}

/** A command whose process is created and whose program can be started. */
interface StartableCommand {
  readonly command: DrivenCommand;
  readonly launch: Launch;
}

/** Runs commands as children of the process that calls. */
@injectable()
export class CommandRunner implements CommandRuns {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(FolderAccess) private readonly folderAccess: FolderAccess,
    @inject(Spawning) private readonly spawning: Spawning,
    @inject(InheritedEnvironments) private readonly environments: InheritedEnvironments,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(CommandPlanner) private readonly planner: CommandPlanner,
    @inject(CommandRecorder) private readonly commandRecorder: CommandRecorder,
    @inject(CommandDrivers) private readonly drivers: CommandDrivers,
    @inject(SpawnGate) private readonly gate: SpawnGate,
    @inject(ApprovalLookup) private readonly approvals: ApprovalLookup,
    @inject(EditedAnswers) private readonly editedAnswers: EditedAnswers,
    @inject(Commitments) private readonly commitments: Commitments,
  ) {}

  async begin(caller: ProcessCaller, rawSpec: unknown): Promise<Pid> {
    const spec = this.planner.parse(rawSpec, 'spec');
    await this.lease.acquire();
    const driver = this.drivers.register(this.ids.next('process'));
    try {
      const { command, launch } = await this.createProcess(caller, spec, driver);
      // A failure is recorded as the end of the process.
      const starting = this.drivers.start(driver, command, launch).catch(() => undefined);
      if (spec.background) await starting;
      return driver.pid;
    } catch (error) {
      this.drivers.forget(driver);
      throw error;
    }
  }

  resultOf(pid: Pid): Promise<CommandResult> {
    return this.store.read(async (tx) => {
      const row = await this.lookup.get(tx, pid);
      const object = row.result === null ? undefined : await this.objects.find(tx, row.result);
      if (row.outcome?.reason === 'not_started') throw notStarted(row);
      if (row.outcome?.kind === 'abandoned' || object === undefined) throw outcomeUnknown(row);
      return object.payload as object as CommandResult;
    });
  }

  private async createProcess(
    caller: ProcessCaller,
    spec: ParsedCommand,
    driver: CommandDriver,
  ): Promise<StartableCommand> {
    const { pid } = caller;
    const call = callOf(caller);
    let startable: StartableCommand | undefined;
    let edit: EditedCommand | undefined;
    const prepare = async (outdated?: OutdatedPreparation) => {
      if (outdated instanceof AnswerEdited) edit = editCommand(spec, edit, outdated, this.commitments);
      const asked = edit === undefined ? spec : this.planner.parse(edit.spec, 'answer.args');
      return this.prepare(caller, asked, await this.units.read(call, (tx) => this.lookup.getSpawnable(tx, pid)), edit);
    };
    const create = async (tx: WriteTx, act: Act, prepared: PreparedRun) => {
      const parent = await this.lookup.getSpawnable(tx, pid);
      if (parent.cwd !== prepared.parentCwd) throw new OutdatedPreparation(pid);
      await this.lease.assertLive(tx);
      startable = await this.create(tx, act, parent, prepared, driver.pid);
      if (edit !== undefined) await this.approvals.useAll(tx, edit.approvals, pid, act.at);
      return driver.pid;
    };
    try {
      await this.units.commitPrepared(call, prepare, create);
    } catch (error) {
      await this.editedAnswers.settleRefusal(pid, edit?.approvals, error);
      throw error;
    }
    if (startable === undefined) throw new Error('The unit has committed without a command.');
    return startable;
  }

  private async prepare(
    caller: ProcessCaller,
    spec: ParsedCommand,
    { pid, cwd: parentCwd, env }: ProcessRow,
    edit: EditedCommand | undefined,
  ): Promise<PreparedRun> {
    const { cwd, folderQuestion } = await this.folderOf(caller, spec.cwd, parentCwd);
    const realCwd = this.planner.realFolder(cwd);
    const { inherited } = env === null ? { inherited: {} } : await this.environments.ofProcess(pid);
    const named = spec.cwd === undefined ? spec : { ...spec, cwd };
    const use = edit === undefined ? {} : { edit: { approval: edit.approval, isContinued: false } };
    const context = { folder: realCwd, asker: pid, inherited, isEditable: true, ...use };
    const plan = this.planner.plan(named, context, this.planner.placeOf(cwd));
    await this.gate.check(callOf(caller), pid, { ...namesOf(spec), image: anonymousCommandImage, args: plan.args });
    const editing = edit === undefined ? {} : { edit };
    return { parentCwd, cwd, realCwd, plan, ...editing, ...(folderQuestion === undefined ? {} : { folderQuestion }) };
  }

  /** The folder that a command runs in, and the authority that a named one needs. */
  private async folderOf(caller: ProcessCaller, named: string | undefined, parentCwd: string): Promise<Folder> {
    if (named === undefined) return { cwd: parentCwd };
    if (!path.isAbsolute(named)) return this.folderAccess.check(caller, 'command.run', parentCwd, named);
    const { workspace } = this.planner;
    return this.folderAccess.check(caller, 'command.run', '.', workspacePath({ cwd: parentCwd, workspace }, named));
  }

  private async create(
    tx: WriteTx,
    act: Act,
    parent: ProcessRow,
    { plan, cwd, realCwd, folderQuestion, edit }: PreparedRun,
    pid: Pid,
  ): Promise<StartableCommand> {
    const { spec } = plan;
    const newProcess: NewProcess = {
      pid,
      parent,
      image: anonymousCommandImage,
      get args() {
        return plan.shown;
      },
      argsForRules: plan.args,
      goal: { payload: {} },
      cwd,
      ...(folderQuestion === undefined ? {} : { folderQuestion }),
      ...namesOf(spec),
      queue: null,
      externalRef: null,
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
    const { row, command } = await this.spawning.create(tx, act, newProcess);
    if (command === undefined) throw new Error('A command process has no command row.');
    await this.commandRecorder.recordIntent(tx, act, row, command, plan.shownEnvironment, this.editFacts(plan, edit));
    const { token, survive } = command;
    const hasOutputLimit = (await this.accounts.report(tx, row, act.at)).outputBytes.left !== null;
    return {
      command: { row, token, survive, hasOutputLimit, isAwaited: !command.background && !survive },
      launch: launchOf(plan, realCwd),
    };
  }

  /** The facts about edited arguments for the record of the intent. */
  private editFacts(plan: PlannedCommand, edit: EditedCommand | undefined): EditedIntent | undefined {
    if (edit === undefined) return undefined;
    const { approval, originalHash, by } = edit;
    const argsHash = hashOfArgs(plan.args);
    const facts = {
      argsHash: this.commitments.hashOnRecord(argsHash, argsHash === hashOfArgs(plan.shown)),
      originalHash,
      editedUnder: approval,
    };
    return { facts, payload: { editedBy: by } };
  }
}

function callOf(caller: ProcessCaller): Call {
  const { pid } = caller;
  return { caller, actor: pid, action: 'command.run', target: pid, kind: 'act' };
}

/** The names of the process of a command. */
function namesOf({ argv, owner }: ParsedCommand): Pick<NewProcess, 'name' | 'labels' | 'owner'> {
  return { name: nameOf(argv), labels: null, owner: (owner as OwnerKeys | undefined) ?? null };
}

/** The program without its folder. */
function nameOf([program = '']: readonly string[]): string {
  return path.basename(program).slice(0, 256);
}

function notStarted({ pid, outcome }: ProcessRow): ToolError {
  const { errno = null, message = 'It could not be started.', secret } = outcome?.evidence ?? {};
  return new ToolError('TOOL_FAILED', `Command ${pid} was not started. ${message}`, {
    facts: { pid, errno, ...(secret === undefined ? {} : { secret }) },
    hint:
      secret === undefined
        ? 'See whether the program is there and may be executed, and whether its folder is.'
        : 'See whether createKernel has the option secrets, and whether it gives this one.',
  });
}
