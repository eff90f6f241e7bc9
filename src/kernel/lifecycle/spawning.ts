import { inject, injectable } from 'inversify';
import { Entropy } from '../../base/entropy.js';
import { type ApprovalId, type CapabilityId, IdSource, type NodeId, type ObjectId, type Pid } from '../../base/ids.js';
import { canonicalJson, type JsonValue, sha256Hex } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import type { Question } from '../../capability/decision/question.js';
import type { Authority } from '../../capability/holding/capability.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import type { StatedAuthority } from '../../capability/holding/capability-spec.js';
import { Derivation } from '../../capability/holding/derivation.js';
import { Grants } from '../../capability/holding/grants.js';
import type { Receiver } from '../../capability/holding/new-record.js';
import { type Pattern, parsePattern } from '../../capability/resource/resource.js';
import { factsOfApprovals, RuleGate } from '../../capability/rule/rule-gate.js';
import type { ForkMode, ViewNarrowing } from '../../memory/object/object.js';
import { ObjectWriter } from '../../memory/object/object-writer.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Accounts } from '../budget/accounts.js';
import type { Budget } from '../budget/budget.js';
import type { CommandPlan } from '../command/command-plans.js';
import { CommandRepository, type CommandRow } from '../command/command-repository.js';
import { earliestDeadline } from '../process/deadline.js';
import { type ImageFacts, imageReference } from '../process/images.js';
import type { OnBudget, OnParentExit, OwnerKeys, ProcessRow } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { FolderAccess } from '../workspace/folder-access.js';
import { SpawnExtrasRepository } from './spawn-extras-repository.js';

/** The goal of a new process: a payload for an object of its own, or an object that it is given to read. */
export type Goal =
  | { readonly payload: JsonValue }
  | { readonly object: ObjectId; readonly readableBy: CapabilityId | 'host' };

/** A process to be made; everything that a caller could get wrong has been looked at. */
export interface NewProcess {
  readonly pid?: Pid;
  readonly parent: ProcessRow | null;
  readonly image: ImageFacts;
  /** As they are stored. */
  readonly args: JsonValue;
  /** What rules on the image are asked about, where the arguments are not stored as they are. */
  readonly trueArgs?: JsonValue;
  readonly goal: Goal;
  readonly cwd: string;
  /** What the parent has to be allowed, where it chose the working directory itself. */
  readonly folder?: Question;
  readonly name: string | null;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly owner: OwnerKeys | null;
  readonly env: Readonly<Record<string, string>> | null;
  readonly budget: Partial<Budget>;
  readonly onBudget: OnBudget;
  readonly deadlineMs: number | null;
  readonly onParentExit: OnParentExit;
  readonly held: boolean;
  readonly registration: { readonly id: string; readonly hash: string } | null;
  readonly authority: { readonly grants: readonly Authority[] } | { readonly delegate: readonly StatedAuthority[] };
  readonly fork: { readonly mode: ForkMode; readonly narrowing: ViewNarrowing | null } | null;
  /** Of a process that is a command. */
  readonly command?: CommandPlan;
  /** The node that drives it from the beginning. */
  readonly node?: NodeId;
}

/** A process that has been made. */
export interface Spawned {
  readonly row: ProcessRow;
  readonly command?: CommandRow;
}

const commandTokenBytes = 16;

/**
 * Makes a process: row, account, goal, view, capabilities, event and record, all in the caller's unit.
 * Throws BUDGET_EXCEEDED, AMPLIFICATION, CAPABILITY_DENIED.
 */
@injectable()
export class Spawning {
  constructor(
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(SpawnExtrasRepository) private readonly births: SpawnExtrasRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(Derivation) private readonly drawing: Derivation,
    @inject(Grants) private readonly grants: Grants,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(FolderAccess) private readonly access: FolderAccess,
    @inject(ObjectWriter) private readonly objects: ObjectWriter,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(Authorizer) private readonly warrants: Authorizer,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(Entropy) private readonly entropy: Entropy,
  ) {}

  async create(tx: WriteTx, act: Act, birth: NewProcess): Promise<Spawned> {
    const { parent } = birth;
    const pid = birth.pid ?? this.ids.next('process');
    const admission: Admission = parent === null ? { approvals: [] } : await this.admitted(tx, act, parent, birth);
    const goal = 'object' in birth.goal ? birth.goal.object : this.objects.newId();
    if ('payload' in birth.goal) await this.objects.create(tx, pid, goal, 'goal', birth.goal.payload, act.at);
    const view = await this.view(tx, birth, pid, goal);
    const row = newRow(birth, pid, goal, view, act.at);
    const n = await this.processes.insert(tx, row);
    await this.accounts.open(tx, n, parent === null, birth.budget);
    if (hasExtras(birth)) await this.writeExtras(tx, birth, row, n);
    const command = birth.command === undefined ? {} : await this.command(tx, n, birth.command, admission.command);
    const capabilities = await this.authority(tx, act, birth, row);
    await this.grants.insert(tx, capabilities);
    if (birth.image.requires.length > 0) {
      await this.grants.requireAll(tx, pid, birth.image.requires, row.image, act.at);
    }
    const ids = capabilities.map(({ id }) => id);
    this.tell(tx, act, birth, row, { capabilities: ids, ...admission });
    return { row: { ...row, n }, ...command };
  }

  /** Passes the rules and takes a place under `parent`. Answers with what it took. */
  private async admitted(tx: WriteTx, act: Act, parent: ProcessRow, birth: NewProcess): Promise<Admission> {
    const { args, trueArgs = args, command: plan } = birth;
    const image = { name: birth.image.name, args: trueArgs, shown: args };
    const approvals = await this.rules.checkSpawn(tx, act, parent, image, handedDown(birth));
    const folder = birth.folder === undefined ? undefined : await this.access.take(tx, act, birth.folder);
    const command = plan === undefined ? undefined : await this.permitted(tx, act, plan);
    await this.accounts.enter(tx, parent);
    // What is started in this very unit is told by the intent of its effect.
    const told = birth.node === undefined ? command?.approval : undefined;
    const taken = [folder?.approval, told].filter((approval) => approval !== undefined);
    return {
      approvals: [...approvals, ...taken],
      ...(folder === undefined ? {} : { folder: folder.capability }),
      ...(command === undefined ? {} : { command }),
    };
  }

  /** By what a command may be run; undefined for the host. Throws CAPABILITY_DENIED, AskNeeded. */
  async permitted(tx: WriteTx, act: Act, { question }: CommandPlan): Promise<Authorization | undefined> {
    return question === undefined ? undefined : this.warrants.authorize(tx, act, question);
  }

  /** The token tells everything that the command starts from all other processes of the machine. */
  async command(
    tx: WriteTx,
    process: number,
    plan: CommandPlan,
    warrant: Authorization | undefined,
  ): Promise<{ command: CommandRow }> {
    const { resource, line, background, survive } = plan;
    const command: CommandRow = {
      process,
      token: this.entropy.bytes(commandTokenBytes).toString('hex'),
      line,
      resource,
      capability: warrant?.capability ?? 'host',
      approval: warrant?.approval ?? null,
      background,
      survive,
      leader: null,
      outputBytes: 0,
    };
    await this.commands.put(tx, command);
    return { command };
  }

  private view(tx: WriteTx, { parent, fork }: NewProcess, pid: Pid, goal: ObjectId): Promise<number> {
    if (fork === null || parent === null) return this.objects.createView(tx, pid, goal);
    return this.objects.forkView(tx, pid, goal, parent.view, fork.mode, fork.narrowing);
  }

  private async writeExtras(tx: WriteTx, birth: NewProcess, row: NewRow, n: number): Promise<void> {
    if (row.labels !== null || row.owner !== null) await this.births.insertTags(tx, n, row);
    if (row.env !== null && birth.env !== null) await this.births.insertEnvironment(tx, row.env, birth.env);
    if (birth.registration === null) return;
    const { id, hash } = birth.registration;
    await this.births.insertRegistration(tx, row.bornUnder, id, { pid: row.pid, hash });
  }

  private async authority(tx: WriteTx, act: Act, birth: NewProcess, row: NewRow): Promise<CapabilityRecord[]> {
    const to: Receiver = { pid: row.pid, generation: row.generation, at: act.at };
    const given = [this.grants.createOwn(to)];
    if ('object' in birth.goal) {
      given.push(await this.grants.createReadShare(tx, birth.goal.object, birth.goal.readableBy, to));
    }
    if ('grants' in birth.authority) {
      for (const authority of birth.authority.grants) given.push(this.grants.createRoot(to, authority, 'host'));
    } else if (birth.parent !== null) {
      for (const stated of birth.authority.delegate) {
        given.push((await this.drawing.derive(tx, birth.parent.pid, to, stated, 'spawn')).record);
      }
    }
    return given;
  }

  private tell(tx: WriteTx, act: Act, { parent, fork }: NewProcess, row: NewRow, given: Given): void {
    const { image, kind, goal, status, deadlineAt } = row;
    const due = deadlineAt === null ? undefined : { deadlineAt };
    const { capabilities, approvals, folder, command } = given;
    const facts = { image, goal, capabilities, ...factsOfApprovals(approvals) };
    const told = { after: status, facts, capability: folder ?? command?.capability, approval: approvals[0] };
    if (fork !== null && parent !== null) {
      const data = { parent: parent.pid, image, kind, goal, mode: fork.mode, ...due };
      this.recorder.record(tx, act, row, { event: 'process.forked', data, action: 'process.fork', ...told });
    } else {
      const action = parent === null ? 'process.spawn' : 'process.spawnChild';
      const data = { parent: row.parent, image, kind, goal, ...due };
      this.recorder.record(tx, act, row, { event: 'process.spawned', data, action, ...told });
    }
  }
}

type NewRow = Omit<ProcessRow, 'n'>;

/** What a birth took. */
interface Admission {
  readonly approvals: ApprovalId[];
  /** The capability by which the parent may work in the folder that it chose. */
  readonly folder?: CapabilityId | 'kin';
  /** By what the parent may run the command. */
  readonly command?: Authorization;
}

/** What a birth gave and took. */
type Given = Admission & { readonly capabilities: CapabilityId[] };

/** A goal that is given to read is handed down like everything that is stated. */
function handedDown({ authority, goal }: NewProcess): Pattern[] {
  const stated = 'delegate' in authority ? authority.delegate.map(({ pattern }) => pattern) : [];
  return 'object' in goal ? [parsePattern(`object:${goal.object}`), ...stated] : stated;
}

function hasExtras({ labels, owner, env, registration }: NewProcess): boolean {
  return labels !== null || owner !== null || env !== null || registration !== null;
}

function newRow(birth: NewProcess, pid: Pid, goal: ObjectId, view: number, at: number): NewRow {
  const { parent, image } = birth;
  const limits = { deadlineMs: birth.deadlineMs, wallMs: birth.budget.wallMs };
  const deadlineAt = earliestDeadline(at, limits, parent);
  const ready = image.kind === 'agent' || image.kind === 'steps' ? 'runnable' : 'created';
  return {
    pid,
    parent: parent?.pid ?? null,
    bornUnder: parent?.pid ?? null,
    path: parent === null ? [] : [...parent.path, parent.n],
    root: parent?.root ?? pid,
    depth: parent === null ? 0 : parent.path.length + 1,
    kind: image.kind,
    status: birth.held ? 'paused' : ready,
    previous: birth.held ? 'runnable' : null,
    image: imageReference(image),
    name: birth.name,
    labels: birth.labels,
    owner: birth.owner,
    cwd: birth.cwd,
    goal,
    view,
    args: birth.args,
    env: birth.env === null ? null : sha256Hex(canonicalJson(birth.env)),
    generation: 1,
    authoritySince: 1,
    attempt: 1,
    recoveries: 0,
    version: 1,
    fence: 1,
    node: birth.node ?? null,
    wait: null,
    stop: null,
    outcome: null,
    message: null,
    result: null,
    onParentExit: birth.onParentExit,
    onBudget: birth.onBudget,
    recovery: image.recovery,
    retry: image.retry,
    progress: null,
    createdAt: at,
    startedAt: null,
    updatedAt: at,
    exitedAt: null,
    exitOrder: null,
    deadlineMs: birth.deadlineMs,
    deadlineAt,
    alarmAt: deadlineAt,
  };
}
