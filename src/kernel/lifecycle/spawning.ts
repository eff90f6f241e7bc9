import { inject, injectable } from 'inversify';
import { Commitments } from '../../base/commitments.js';
import { Entropy } from '../../base/entropy.js';
import { type ApprovalId, type CapabilityId, IdSource, type NodeId, type ObjectId, type Pid } from '../../base/ids.js';
import { canonicalJson, type JsonObject, type JsonValue, sha256Hex } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import type { Question } from '../../capability/decision/question.js';
import type { Authority } from '../../capability/holding/capability.js';
import {
  type CapabilityRecord,
  grantFacts,
  grantPayload,
  type Receiver,
} from '../../capability/holding/capability-record.js';
import type { StatedAuthority } from '../../capability/holding/capability-spec.js';
import { Derivation } from '../../capability/holding/derivation.js';
import { Grants } from '../../capability/holding/grants.js';
import { type Pattern, parsePattern } from '../../capability/resource/resource.js';
import { factsOfApprovals, RuleGate } from '../../capability/rule/rule-gate.js';
import type { ForkMode, NewObject, ViewNarrowing } from '../../memory/object/object.js';
import { ObjectWriter, storedBytesOf } from '../../memory/object/object-writer.js';
import { type Act, signallerOf } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Accounts } from '../budget/accounts.js';
import type { Budget } from '../budget/budget.js';
import type { Environment } from '../command/command.js';
import type { CommandPlan } from '../command/command-ports.js';
import { CommandRepository, type CommandRow } from '../command/command-repository.js';
import type { ImageFacts } from '../process/images.js';
import {
  beginningStatusOf,
  defaultQueue,
  earliestDeadline,
  type OnBudget,
  type OnParentExit,
  type OwnerKeys,
  type ProcessRow,
} from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { FolderAccess } from '../workspace/folder-access.js';
import { changedFlags, programFacts, programPayload } from './program-facts.js';
import { SpawnExtrasRepository } from './spawn-extras-repository.js';
import type { SpawnStart, StartFacts } from './spawn-starts.js';

/** The goal of a new process: a payload for an object of its own, or an object that it is given to read. */
export type Goal =
  | { readonly payload: JsonValue }
  | { readonly object: ObjectId; readonly readableBy: CapabilityId | 'host' };

/** The id of a new process, and the spec that the id stands for. */
export interface NewRegistration {
  readonly id: string;
  readonly hash: string;
  readonly members: Readonly<Record<string, string>>;
  /** The hash that older versions registered for the same spec, where it differs. */
  readonly olderHash?: string;
  /** Whether the process that has the id is the answer, whatever its spec was. */
  readonly keepsExisting: boolean;
}

/** A process to be created, from a spec that has been checked. */
export interface NewProcess {
  readonly pid?: Pid;
  readonly parent: ProcessRow | null;
  readonly image: ImageFacts;
  /** As they are stored. */
  readonly args: JsonValue;
  /** The arguments that rules on the image see, where they differ from those that are stored. */
  readonly argsForRules?: JsonValue;
  readonly goal: Goal;
  readonly cwd: string;
  /** The authority that the parent needs for a working directory of its own choice. */
  readonly folderQuestion?: Question;
  readonly name: string | null;
  /** Null: the parent's, else `default`. */
  readonly queue: string | null;
  readonly externalRef: string | null;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly owner: OwnerKeys | null;
  readonly env: Environment | null;
  /** The authority that the parent needs for secrets in `env`. */
  readonly secretQuestions?: readonly Question[];
  readonly budget: Partial<Budget>;
  readonly onBudget: OnBudget;
  readonly deadlineMs: number | null;
  readonly onParentExit: OnParentExit;
  readonly held: boolean;
  readonly registration: NewRegistration | null;
  readonly authority: { readonly grants: readonly Authority[] } | { readonly delegate: readonly StatedAuthority[] };
  readonly fork: { readonly mode: ForkMode; readonly narrowing: ViewNarrowing | null } | null;
  /** Of a process that is a command. */
  readonly command?: CommandPlan;
  /** The node that drives the process from the beginning. */
  readonly node?: NodeId;
}

/** A process that was created. */
export interface Spawned {
  readonly row: ProcessRow;
  readonly command?: CommandRow;
}

const commandTokenBytes = 16;

/** Creates processes in the caller's unit: row, account, goal, view, capabilities, event and audit record. */
@injectable()
export class Spawning {
  constructor(
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(SpawnExtrasRepository) private readonly extras: SpawnExtrasRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(Derivation) private readonly derivation: Derivation,
    @inject(Grants) private readonly grants: Grants,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(FolderAccess) private readonly folderAccess: FolderAccess,
    @inject(ObjectWriter) private readonly objects: ObjectWriter,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(Authorizer) private readonly authorizer: Authorizer,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(Entropy) private readonly entropy: Entropy,
    @inject(Commitments) private readonly commitments: Commitments,
  ) {}

  /**
   * Everything that can refuse is asked before the first row of the process is written. Throws CAPABILITY_DENIED,
   * BUDGET_EXCEEDED, AMPLIFICATION, ApprovalNeeded.
   */
  async create(tx: WriteTx, act: Act, spec: NewProcess, start?: SpawnStart): Promise<Spawned> {
    const pid = spec.pid ?? this.ids.next('process');
    const goal = 'object' in spec.goal ? spec.goal.object : this.objects.newId();
    const goalObject =
      'object' in spec.goal ? undefined : this.objects.prepare(pid, goal, 'goal', spec.goal.payload, act.at);
    const { storedBytes, ...admission } = await this.admit(tx, act, spec, goalObject);
    const capabilities = await this.createCapabilities(tx, spec, { pid, generation: firstGeneration, at: act.at });
    const { reference: image, requires } = spec.image;
    this.grants.requireAll(capabilities, requires, { pid, image, now: act.at });

    if (goalObject !== undefined) await this.objects.insert(tx, goalObject);
    const newRow = toNewRow(act, spec, pid, goal, await this.createView(tx, spec, pid, goal));
    const row = { ...newRow, n: await this.processes.insert(tx, newRow) };
    await this.accounts.open(tx, row.n, spec.parent === null, spec.budget, storedBytes);
    if (hasExtras(spec, row)) await this.insertExtras(tx, spec, row);
    const command = spec.command === undefined ? {} : await this.putCommand(tx, row.n, spec.command, admission.command);
    await this.grants.insert(tx, capabilities);
    const started = await start?.admit(tx, row);
    this.recordSpawn(tx, act, spec, row, { ...admission, capabilities }, started);
    await start?.start(tx, act, row);
    return { row, ...command };
  }

  /** Authorizes a command; undefined for the host. Throws CAPABILITY_DENIED, ApprovalNeeded. */
  async authorizeCommand(
    tx: WriteTx,
    act: Act,
    { question, secretQuestions }: Pick<CommandPlan, 'question' | 'secretQuestions'>,
  ): Promise<CommandAuthorization | undefined> {
    if (question === undefined) return undefined;
    const authorization = await this.authorizer.authorize(tx, act, question);
    return { ...authorization, secrets: await this.authorizeSecrets(tx, act, secretQuestions) };
  }

  /** Uses the authority for each secret once. */
  private async authorizeSecrets(tx: WriteTx, act: Act, questions: readonly Question[]): Promise<UsedSecret[]> {
    const used: UsedSecret[] = [];
    for (const question of questions) {
      const resource = question.request.text;
      if (used.some((secret) => secret.resource === resource)) continue;
      const { capability, approval } = await this.authorizer.authorize(tx, act, question);
      used.push({ resource, capability, ...(approval === undefined ? {} : { approval }) });
    }
    return used;
  }

  /** Stores the command of a process. Its token marks everything that the command starts on the machine. */
  async putCommand(
    tx: WriteTx,
    rowNumber: number,
    plan: CommandPlan,
    authorization: Authorization | undefined,
  ): Promise<{ command: CommandRow }> {
    const { resource, line, argsHash, background, survive } = plan;
    const command: CommandRow = {
      process: rowNumber,
      token: Buffer.from(this.entropy.bytes(commandTokenBytes)).toString('hex'),
      line,
      resource,
      capability: authorization?.capability ?? 'host',
      approval: authorization?.approval ?? null,
      argsHash,
      background,
      survive,
      leader: null,
      adopted: null,
      outputBytes: 0,
      intent: null,
    };
    await this.commands.put(tx, command);
    return { command };
  }

  /** Asks the rules and the parent's authority, and takes a child slot under the parent. The host's root needs none. */
  private async admit(tx: WriteTx, act: Act, spec: NewProcess, goal: NewObject | undefined): Promise<Admission> {
    const { parent, argsForRules, folderQuestion, command: plan, node, secretQuestions = [] } = spec;
    if (parent === null) return { approvals: [], storedBytes: storedBytesFor(goal, spec) };
    const image = { name: spec.image.name, args: argsForRules ?? spec.args, shown: () => spec.args };
    const approvals = await this.rules.checkSpawn(tx, act, parent, image, patternsHandedDown(spec));
    const folder =
      folderQuestion === undefined ? undefined : await this.folderAccess.authorize(tx, act, folderQuestion);
    const command = plan === undefined ? undefined : await this.authorizeCommand(tx, act, plan);
    const known = new Set(command?.secrets.map(({ resource }) => resource));
    const others = secretQuestions.filter(({ request }) => !known.has(request.text));
    const secrets = [...(command?.secrets ?? []), ...(await this.authorizeSecrets(tx, act, others))];
    const storedBytes = storedBytesFor(goal, spec);
    await this.accounts.takeChildSlot(tx, parent, storedBytes);
    // A command that a node drives from the beginning has an intent on record, which names the approval of the command.
    const commandApproval = node === undefined ? command?.approval : undefined;
    const ofSecrets = secrets.map(({ approval }) => approval);
    const used = [folder?.approval, commandApproval, ...ofSecrets].filter((approval) => approval !== undefined);
    return {
      approvals: [...approvals, ...used],
      storedBytes,
      ...(folder === undefined ? {} : { folder: folder.capability }),
      ...(command === undefined ? {} : { command }),
      secrets,
    };
  }

  /** The capabilities of the new process, not stored: its own namespace, its goal, and what it is granted or delegated. */
  private async createCapabilities(tx: ReadTx, spec: NewProcess, to: Receiver): Promise<CapabilityRecord[]> {
    const { parent, goal, authority } = spec;
    const capabilities = [this.grants.createOwn(to)];
    if ('object' in goal) capabilities.push(await this.grants.createReadShare(tx, goal.object, goal.readableBy, to));
    if ('grants' in authority) {
      for (const grant of authority.grants) capabilities.push(this.grants.createRoot(to, grant, 'host'));
    } else if (parent !== null) {
      for (const stated of authority.delegate) {
        capabilities.push((await this.derivation.derive(tx, parent.pid, to, stated, 'spawn')).record);
      }
    }
    return capabilities;
  }

  private createView(tx: WriteTx, { parent, fork }: NewProcess, pid: Pid, goal: ObjectId): Promise<number> {
    if (fork === null || parent === null) return this.objects.createView(tx, pid, goal);
    return this.objects.forkView(tx, pid, goal, parent.view, fork.mode, fork.narrowing);
  }

  private async insertExtras(tx: WriteTx, { env, registration }: NewProcess, row: ProcessRow): Promise<void> {
    if (row.labels !== null || row.owner !== null) await this.extras.insertTags(tx, row.n, row);
    if (row.env !== null && env !== null) await this.extras.insertEnvironment(tx, row.env, env);
    if (registration === null) return;
    const { id, hash, members } = registration;
    await this.extras.insertRegistration(tx, row.bornUnder, id, { pid: row.pid, hash, members });
  }

  private recordSpawn(
    tx: WriteTx,
    act: Act,
    spec: NewProcess,
    row: ProcessRow,
    granted: Granted,
    started: StartFacts | undefined,
  ): void {
    const { parent, fork, budget, held } = spec;
    const { image, kind, goal, status, deadlineAt } = row;
    const deadline = deadlineAt === null ? undefined : { deadlineAt };
    const { capabilities, approvals, folder, command, secrets } = granted;
    const given = capabilities.filter(({ own }) => !own);
    const facts = {
      image,
      goal,
      capabilities: capabilities.map(({ id }) => id),
      ...grantFacts(given, row.pid),
      ...(fork === null ? {} : { mode: fork.mode }),
      ...programFacts(row, { budget, flags: flagsOf(row, held) }, this.commitments),
      ...factsOfApprovals(approvals),
      ...factsOfSecrets(secrets),
      ...(started === undefined ? {} : { started: { ...started } }),
    };
    const payload = { ...grantPayload(given).payload, ...programPayload(row) };
    const authority = { capability: folder ?? command?.capability, approval: approvals[0] };
    const texts = Object.keys(payload).length === 0 ? {} : { payload };
    const change = { after: status, facts, ...texts, ...authority, lineage: true };
    if (fork !== null && parent !== null) {
      const data = { parent: parent.pid, image, kind, goal, mode: fork.mode, ...deadline };
      this.recorder.record(tx, act, row, { event: 'process.forked', data, action: 'process.fork', ...change });
    } else {
      const action = parent === null ? 'process.spawn' : 'process.spawnChild';
      const data = { parent: row.parent, image, kind, goal, ...deadline };
      this.recorder.record(tx, act, row, { event: 'process.spawned', data, action, ...change });
    }
  }
}

/** The approvals and the authority of the parent that a spawn used. */
interface Admission {
  readonly approvals: ApprovalId[];
  /** Stored for the new process from the beginning. */
  readonly storedBytes: number;
  /** The capability by which the parent may work in the folder that it chose. */
  readonly folder?: CapabilityId | 'kin';
  /** The authorization of the parent to run the command. */
  readonly command?: CommandAuthorization;
  /** The secrets of the environment, of the command and of the process. */
  readonly secrets?: readonly UsedSecret[];
}

/** A secret that an environment refers to, and the authority by which it may. */
interface UsedSecret {
  /** `secret:NAME`. */
  readonly resource: string;
  readonly capability: CapabilityId | 'kin';
  readonly approval?: ApprovalId;
}

/** The authorization to run a command, and to give it the secrets of its environment. */
interface CommandAuthorization extends Authorization {
  readonly secrets: readonly UsedSecret[];
}

/** Audit facts that name the secrets which an environment refers to, each with the capability. */
export function factsOfSecrets(secrets: readonly UsedSecret[] = []): JsonObject {
  if (secrets.length === 0) return {};
  return { secrets: secrets.map((secret) => ({ ...secret })) };
}

/** An admission and the capabilities of the new process. */
type Granted = Omit<Admission, 'storedBytes'> & { readonly capabilities: readonly CapabilityRecord[] };

/** The bytes that are stored of a goal and arguments. */
function storedBytesFor(goal: NewObject | undefined, { args }: NewProcess): number {
  const bytesOfArgs = args === null ? 0 : storedBytesOf({ payload: JSON.stringify(args) });
  return goal === undefined ? bytesOfArgs : bytesOfArgs + storedBytesOf(goal);
}

/** A goal that is given to read is handed down as delegated authority is. */
function patternsHandedDown({ authority, goal }: NewProcess): Pattern[] {
  const delegated = 'delegate' in authority ? authority.delegate.map(({ pattern }) => pattern) : [];
  return 'object' in goal ? [parsePattern(`object:${goal.object}`), ...delegated] : delegated;
}

/** Whether `insertExtras` has something to insert: most processes have no tags, environment or id. */
function hasExtras({ registration }: NewProcess, { labels, owner, env }: ProcessRow): boolean {
  return labels !== null || owner !== null || env !== null || registration !== null;
}

function flagsOf({ onParentExit, onBudget }: ProcessRow, held: boolean): JsonObject {
  return changedFlags({ held, onParentExit, onBudget }, { held: false, onParentExit: 'cancel', onBudget: 'refuse' });
}

const firstGeneration = 1;

function toNewRow(act: Act, spec: NewProcess, pid: Pid, goal: ObjectId, view: number): Omit<ProcessRow, 'n'> {
  const { at } = act;
  const { parent, image } = spec;
  const limits = { deadlineMs: spec.deadlineMs, wallMs: spec.budget.wallMs };
  const deadlineAt = earliestDeadline(at, limits, parent);
  const ready = beginningStatusOf(image.kind);
  const queue = spec.queue ?? parent?.queue ?? null;
  return {
    pid,
    parent: parent?.pid ?? null,
    bornUnder: parent?.pid ?? null,
    path: parent === null ? [] : [...parent.path, parent.n],
    root: parent?.root ?? pid,
    depth: parent === null ? 0 : parent.path.length + 1,
    kind: image.kind,
    status: spec.held ? 'paused' : ready,
    previous: spec.held ? ready : null,
    pausedBy: spec.held ? signallerOf(act) : null,
    image: image.reference,
    name: spec.name,
    id: spec.registration?.id ?? null,
    queue: queue === defaultQueue ? null : queue,
    externalRef: spec.externalRef,
    labels: spec.labels,
    owner: spec.owner,
    cwd: spec.cwd,
    goal,
    view,
    args: spec.args,
    env: spec.env === null ? null : sha256Hex(canonicalJson(spec.env)),
    generation: firstGeneration,
    authoritySince: firstGeneration,
    attempt: 1,
    recoveries: 0,
    failedBuilds: null,
    version: 1,
    fence: 1,
    node: spec.node ?? null,
    wait: null,
    stop: null,
    outcome: null,
    message: null,
    result: null,
    onParentExit: spec.onParentExit,
    onBudget: spec.onBudget,
    recovery: image.recovery,
    retry: image.retry,
    acknowledgesStop: image.acknowledgesStop || null,
    progress: null,
    createdAt: at,
    startedAt: null,
    updatedAt: at,
    exitedAt: null,
    exitOrder: null,
    deadlineMs: spec.deadlineMs,
    deadlineAt,
    alarmAt: deadlineAt,
  };
}
