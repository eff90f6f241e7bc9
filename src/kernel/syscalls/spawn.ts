import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { type InputError, invalidInput, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { canonicalJson, type JsonValue, sha256Hex } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/spec.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { parseCapabilitySpecs, parseDelegationSpecs } from '../../capability/holding/capability-spec.js';
import { assertNotExpired } from '../../capability/holding/expiry.js';
import { parseRules } from '../../capability/rule/rule.js';
import { Policy } from '../../capability/syscalls/policy.js';
import { ObjectHandle } from '../../memory/object/object.js';
import { PayloadParser } from '../../memory/object/object-writer.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import type { Call, Caller } from '../../unit/caller.js';
import { type ChangedProcess, ChangeRecorder } from '../../unit/change-recorder.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import type { Environment } from '../command/command.js';
import { CommandPlans } from '../command/command-ports.js';
import { InheritedEnvironments } from '../command/inherited-environments.js';
import { secretQuestions } from '../command/secret-access.js';
import { RootDefaults } from '../lifecycle/root-defaults.js';
import { type Registration, SpawnExtrasRepository } from '../lifecycle/spawn-extras-repository.js';
import { SpawnGate } from '../lifecycle/spawn-gate.js';
import { SpawnStarts } from '../lifecycle/spawn-starts.js';
import { type Goal, type NewProcess, type NewRegistration, Spawning } from '../lifecycle/spawning.js';
import { defaultImage, type ImageFacts, Images, withImageReference } from '../process/images.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import { PruneRepository } from '../process/prune-repository.js';
import { ShareableObjects } from '../process/shareable-objects.js';
import { childSpec, parse, parsePid, spawnId, spawnSpec } from '../specs.js';
import { FolderAccess } from '../workspace/folder-access.js';

/** The process that a supervisor replaces with a new child, and the reason. */
export interface Restart {
  /** The name of the child in the supervisor's list. */
  readonly child: string;
  readonly instead: Pid;
  /** The outcome of the replaced process, or the strategy by which it was stopped. */
  readonly reason: string;
  /** The process whose end caused the restart. */
  readonly because: Pid;
  /** The message of that end. */
  readonly detail: string | undefined;
}

/** The fields that the specs of spawn, spawnChild and fork share; the image is the one that was found for it. */
type CommonSpec = Omit<z.output<typeof spawnSpec>, 'capabilities' | 'ask' | 'image'> & { readonly image: string };

/** A whole spec as the caller gave it, before defaults of the parent were filled in. */
type OriginalSpec = { readonly goal?: CommonSpec['goal']; readonly [property: string]: unknown };

/** A spec that was checked before the unit: image, arguments, folder and command. */
export type PreparedSpawn = Omit<NewProcess, 'pid' | 'parent' | 'goal' | 'cwd' | 'authority' | 'fork'> & {
  readonly goal: { readonly payload: JsonValue } | ObjectHandle;
  /** Absent: the parent's. */
  readonly cwd?: string;
  /** Whether a process was registered with the id when it was prepared, so that the host's policy was not asked. */
  readonly isRegistered: boolean;
};

/** What a registered id stands for, and the action of a refusal on record. */
interface PrepareOptions {
  /** Default: the spec. */
  readonly original?: OriginalSpec;
  /** What the id stood for in older versions, where that differs. */
  readonly older?: OriginalSpec | undefined;
  readonly action?: AuditAction;
}

type NewChild = Omit<NewProcess, 'authority' | 'fork'>;

/** The syscalls spawn and spawnChild, and the steps that fork shares with them. */
@injectable()
export class Spawn {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(Images) private readonly images: Images,
    @inject(CommandPlans) private readonly commandPlans: CommandPlans,
    @inject(InheritedEnvironments) private readonly environments: InheritedEnvironments,
    @inject(FolderAccess) private readonly folderAccess: FolderAccess,
    @inject(SpawnExtrasRepository) private readonly extras: SpawnExtrasRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(PruneRepository) private readonly prunes: PruneRepository,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ShareableObjects) private readonly objects: ShareableObjects,
    @inject(Spawning) private readonly spawning: Spawning,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(RootDefaults) private readonly rootDefaults: RootDefaults,
    @inject(SpawnGate) private readonly gate: SpawnGate,
    @inject(SpawnStarts) private readonly starts: SpawnStarts,
    @inject(Policy) private readonly policy: Policy,
  ) {}

  /** Creates a root process with root grants. Throws NO_SUCH_IMAGE, INVALID_INPUT, INVALID_PATH, CAPABILITY_DENIED, CONFLICT, SPAWN_REFUSED. */
  async spawnRoot(caller: Caller, input: unknown): Promise<Pid> {
    const given = parse(spawnSpec, withImageReference(this.images, input), 'spec', this.payloads.specLimits);
    const spec = { ...given, image: given.image ?? this.rootDefaults.image ?? defaultImage };
    const grants = spec.capabilities.flatMap((grant, at) => parseCapabilitySpecs(grant, `spec.capabilities.${at}`));
    const asks = spec.ask ?? [];
    for (const ask of asks) parseRules(ask);
    const call: Call = { caller, actor: 'host', action: 'process.spawn' };
    const prepare = () => this.prepare(caller, null, spec);
    using start = this.starts.attempt();
    const pid = await this.units.commitPrepared(call, prepare, async (tx, act, prepared) => {
      const existing = await this.findExisting(tx, null, prepared);
      if (existing !== undefined) return existing;
      for (const [index, { expiresAt }] of spec.capabilities.entries())
        assertNotExpired({ expiresAt }, act.at, `spec.capabilities.${index}`);
      const goal = await this.toGoal(tx, 'host', prepared.goal, act.at);
      const root = { cwd: '.', ...prepared, goal, parent: null, authority: { grants }, fork: null };
      const { row } = await this.spawning.create(tx, act, root, start);
      for (const [index, ask] of asks.entries())
        await this.policy.setInUnit(tx, act, 'ask', { pid: row.pid, n: row.n }, ask, `spec.ask.${index}`);
      return row.pid;
    });
    start.keep();
    return pid;
  }

  /**
   * Creates a child with a fresh view that holds what the parent delegates and nothing else. `restart` is recorded too.
   * Throws AMPLIFICATION, BUDGET_EXCEEDED, TREE_STOPPING, PROCESS_TERMINATED, and what spawnRoot throws.
   */
  async spawnChild(caller: Caller, parentPid: unknown, input: unknown, restart?: Restart): Promise<Pid> {
    const actor = parsePid(parentPid, 'parent');
    const spec = parse(childSpec, withImageReference(this.images, input), 'spec', this.payloads.specLimits);
    const delegate = spec.delegate.flatMap((stated, index) => parseDelegationSpecs(stated, `spec.delegate.${index}`));
    const image = new ChildImage(spec.image, () => this.findParentImage(actor), !this.gate.isGuarded);
    // In older versions a child that named no image was of the default one.
    const older = spec.image === undefined ? { ...spec, image: defaultImage } : undefined;
    using start = this.starts.attempt();
    const pid = await this.units.commitPrepared(
      { caller, actor, action: 'process.spawnChild', target: actor },
      async () => this.prepare(caller, actor, { ...spec, image: await image.next() }, { original: spec, older }),
      async (tx, act, prepared) => {
        const existing = await this.findExistingChild(tx, actor, prepared);
        if (existing !== undefined) return existing;
        const parent = await this.lookup.getSpawnable(tx, actor);
        if (!image.fits(prepared.image, parent)) throw new OutdatedPreparation(actor);
        // A child that is started again gets what it had, although that may have expired meanwhile.
        if (restart === undefined) {
          for (const [index, { expiresAt }] of spec.delegate.entries())
            assertNotExpired({ expiresAt }, act.at, `spec.delegate.${index}`);
        }
        const child = await this.toNewChild(tx, parent, prepared, act.at);
        const { row } = await this.spawning.create(tx, act, { ...child, authority: { delegate }, fork: null }, start);
        if (restart !== undefined) this.recordRestart(tx, act, row, restart);
        return row.pid;
      },
    );
    start.keep();
    return pid;
  }

  /** The image of a child that names none. Throws INVALID_INPUT where the parent's must be named, NO_SUCH_PROCESS. */
  private async findParentImage(parent: Pid): Promise<string> {
    const { kind, image } = await this.store.read((tx) => this.lookup.get(tx, parent));
    if (kind === 'command' || this.images.resolve(image).isSupervisor) throw imageMustBeNamed(parent, image);
    return image;
  }

  /**
   * Checks a spec before the unit, and asks the host's policy. Throws NO_SUCH_IMAGE, INVALID_INPUT, INVALID_PATH,
   * CAPABILITY_DENIED, SPAWN_REFUSED.
   */
  async prepare(
    caller: Caller,
    parent: Pid | null,
    spec: CommonSpec,
    { original = spec, older, action = parent === null ? 'process.spawn' : 'process.spawnChild' }: PrepareOptions = {},
  ): Promise<PreparedSpawn> {
    if (spec.onParentExit === 'detach' && caller.face === 'process') throw detachIsForHost();
    const image = this.images.resolve(spec.image);
    const args = await parseArgs(image, spec.args);
    const folder =
      spec.cwd === undefined ? {} : await this.folderAccess.check(caller, 'process.spawnChild', '.', spec.cwd);
    const planned: Pick<PreparedSpawn, 'command' | 'cwd'> =
      image.kind === 'command' ? await this.planCommand(image, args, parent, { env: spec.env, ...folder }) : {};
    const defaults: RootDefaults = parent === null ? this.rootDefaults : {};
    const prepared = {
      image,
      args,
      goal: prepareGoal(this.payloads, spec.goal ?? {}),
      ...folder,
      name: spec.name ?? null,
      queue: spec.queue ?? null,
      externalRef: spec.externalRef ?? null,
      labels: spec.labels ?? null,
      owner: (spec.owner as NewProcess['owner']) ?? null,
      env: spec.env ?? null,
      ...(spec.env === undefined || parent === null ? {} : { secretQuestions: secretQuestions(parent, spec.env) }),
      budget: { ...defaults.budget, ...spec.budget } as NewProcess['budget'],
      onBudget: spec.onBudget,
      deadlineMs: spec.deadlineMs ?? planned.command?.timeoutMs ?? defaults.deadlineMs ?? null,
      onParentExit: spec.onParentExit,
      held: spec.held,
      registration: spec.id === undefined ? null : toRegistration(parent, spec.id, original, older),
      ...planned,
    };
    return { ...prepared, isRegistered: await this.askPolicy({ caller, action }, parent, prepared) };
  }

  /** A process that is there already is not asked about. Answers with whether there is one. Throws SPAWN_REFUSED. */
  private async askPolicy(
    { caller, action }: Pick<Call, 'caller' | 'action'>,
    parent: Pid | null,
    prepared: Omit<PreparedSpawn, 'isRegistered'>,
  ): Promise<boolean> {
    if (!this.gate.isGuarded) return false;
    const id = prepared.registration?.id;
    if (id !== undefined && (await this.find(parent, id)) !== undefined) return true;
    const child = parent === null ? { actor: 'host' } : { actor: parent, target: parent };
    await this.gate.check({ caller, action, ...child }, parent, prepared);
    return false;
  }

  /** The command of the new process, and the working directory that is decided on with it. */
  private async planCommand(
    image: ImageFacts,
    args: JsonValue,
    parent: Pid | null,
    own: { readonly env: Environment | undefined; readonly cwd?: string },
  ): Promise<Required<Pick<PreparedSpawn, 'command' | 'cwd'>>> {
    const ofParent = parent === null ? { inherited: {}, cwd: '.' } : await this.environments.ofProcess(parent);
    const { cwd = ofParent.cwd } = own;
    const inherited = { ...ofParent.inherited, ...own.env };
    return { command: this.commandPlans.planImage(image, args, parent, { inherited, cwd }), cwd };
  }

  /**
   * The process that was spawned with the same id and spec before, if any; with `onConflict: 'keep'`, with any spec. The id of
   * a pruned one is free again. Throws CONFLICT for another spec.
   */
  async findExisting(tx: WriteTx, parent: Pid | null, prepared: PreparedSpawn): Promise<Pid | undefined> {
    const { registration } = prepared;
    if (registration === null) return undefined;
    const { id, hash, olderHash, keepsExisting } = registration;
    const found = await this.extras.findRegistration(tx, parent, id);
    const isThere = found !== undefined && (await this.processes.find(tx, found.pid)) !== undefined;
    if (!isThere && prepared.isRegistered) throw new OutdatedPreparation(id);
    if (found === undefined) return undefined;
    if (!isThere) {
      await this.extras.removeRegistration(tx, parent, id);
      await this.prunes.clearPid(tx, found.pid);
      return undefined;
    }
    if (found.hash === hash || keepsExisting) return found.pid;
    if (found.members === null && found.hash === olderHash) return found.pid;
    throw spawnIdTaken(found, registration);
  }

  /** As `findExisting`. Throws INVALID_INPUT for a new id with a dot; one that an older version registered still answers. */
  async findExistingChild(tx: WriteTx, parent: Pid, prepared: PreparedSpawn): Promise<Pid | undefined> {
    const existing = await this.findExisting(tx, parent, prepared);
    if (existing === undefined && prepared.registration?.id.includes('.') === true) throw dotInChildId();
    return existing;
  }

  /** The process that was spawned under `parent` with `id`, or as a root; undefined where there is none. */
  async find(rawParent: unknown, rawId: unknown): Promise<Pid | undefined> {
    const parent = rawParent === null ? null : parsePid(rawParent, 'parent');
    const id = parse(spawnId, rawId, 'id');
    return this.store.read(async (tx) => {
      if (parent !== null) await this.lookup.get(tx, parent);
      const pid = (await this.extras.findRegistration(tx, parent, id))?.pid;
      return pid === undefined ? undefined : (await this.processes.find(tx, pid))?.pid;
    });
  }

  /** A child of `parent`, but for its authority and its view. Throws NO_SUCH_OBJECT. */
  async toNewChild(tx: ReadTx, parent: ProcessRow, prepared: PreparedSpawn, now: number): Promise<NewChild> {
    const goal = await this.toGoal(tx, parent.pid, prepared.goal, now);
    return { cwd: parent.cwd, ...prepared, goal, parent };
  }

  /** A goal that is a handle is a delegation of `read`: `giver` must be able to hand it on. Throws NO_SUCH_OBJECT. */
  private async toGoal(tx: ReadTx, giver: Pid | 'host', goal: PreparedSpawn['goal'], now: number): Promise<Goal> {
    if (!ObjectHandle.is(goal)) return goal;
    const object = await this.objects.get(tx, goal.id);
    if (giver === 'host') return { object: object.id, readableBy: 'host' };
    const { id: readableBy } = await this.objects.getGrant(tx, giver, object, now);
    return { object: object.id, readableBy };
  }

  private recordRestart(tx: WriteTx, act: Act, process: ChangedProcess, restart: Restart): void {
    const { child, instead, reason, because, detail } = restart;
    const supervisor = act.actor;
    this.recorder.record(tx, act, process, {
      event: 'process.restarted',
      data: { supervisor, child, instead, reason },
      action: 'process.restart',
      facts: { supervisor, instead, reason, because },
      payload: { child, ...(detail === undefined ? {} : { detail }) },
    });
  }
}

export async function parseArgs(image: ImageFacts, args: JsonValue | undefined): Promise<JsonValue> {
  const given = copyPlain(args ?? {}, 'spec.args', payloadLimits);
  return copyPlain(await image.parseArgs(given), 'spec.args', payloadLimits);
}

export function prepareGoal(
  payloads: PayloadParser,
  goal: string | Record<string, JsonValue> | ObjectHandle,
): PreparedSpawn['goal'] {
  if (ObjectHandle.is(goal)) return goal;
  return { payload: payloads.parse(typeof goal === 'string' ? { text: goal } : goal, 'spec.goal') };
}

function toRegistration(
  parent: Pid | null,
  id: string,
  { onConflict, ...spec }: OriginalSpec,
  older: OriginalSpec | undefined,
): NewRegistration {
  const goal = goalForHash(spec);
  const given = Object.entries({ ...spec, goal }).filter(([name, value]) => name !== 'id' && !isAbsent(value));
  const members = given.map(([name, value]) => [name, memberHash(value as JsonValue)] as const);
  return {
    id,
    hash: registrationHash(parent, spec),
    members: Object.fromEntries(members),
    ...(older === undefined ? {} : { olderHash: registrationHash(parent, older) }),
    keepsExisting: onConflict === 'keep',
  };
}

/** Over the parent and the spec. */
function registrationHash(parent: Pid | null, { onConflict: _onConflict, ...spec }: OriginalSpec): string {
  return sha256Hex(canonicalJson({ parent, spec: { ...spec, goal: goalForHash(spec) } as JsonValue }));
}

/** A handle counts by its object. */
function goalForHash({ goal }: OriginalSpec): JsonValue {
  return ObjectHandle.is(goal) ? { object: goal.id } : (goal ?? null);
}

/** Whether a member of a spec is as if it were not given. */
function isAbsent(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Short, because it only tells which members differ: whether a spec is the same is decided by the whole hash. */
function memberHash(value: JsonValue): string {
  return sha256Hex(canonicalJson(value)).slice(0, 16);
}

/**
 * The image that a child is prepared with: the one that its spec names, else the parent's. Most parents are of the default
 * image, so that is tried first, without a read, unless somebody is asked about each image.
 */
class ChildImage {
  constructor(
    private readonly named: string | undefined,
    private readonly findParentImage: () => Promise<string>,
    private triesDefault: boolean,
  ) {}

  async next(): Promise<string> {
    if (this.named !== undefined) return this.named;
    if (!this.triesDefault) return this.findParentImage();
    this.triesDefault = false;
    return defaultImage;
  }

  fits(image: ImageFacts, parent: ProcessRow): boolean {
    return this.named !== undefined || image.reference === parent.image;
  }
}

function imageMustBeNamed(parent: Pid, image: string): InputError {
  return invalidInput(
    'spec.image',
    `is missing, and a child does not take the image of ${parent}`,
    'Name the image of the child: a command and a supervisor do not pass theirs on.',
    { parent, image },
  );
}

function detachIsForHost(): InputError {
  const hint = "Use 'cancel' or 'reparent', or have the host spawn it.";
  return invalidInput('spec.onParentExit', "'detach' is for the host only", hint);
}

function spawnIdTaken({ pid, members: before }: Registration, { id, members }: NewRegistration): ProcessError {
  const names = before === null ? [] : [...new Set([...Object.keys(before), ...Object.keys(members)])];
  const differing = names.filter((name) => before?.[name] !== members[name]).sort();
  const told = differing.length === 0 ? '' : `: ${differing.join(', ')}`;
  return new ProcessError('CONFLICT', `The id ${id} was used for process ${pid} with another spec${told}.`, {
    facts: { id, pid, ...(differing.length === 0 ? {} : { members: differing }) },
    hint: "Use another id, exactly the same spec, or onConflict: 'keep' for the process that is there.",
  });
}

function dotInChildId(): InputError {
  const hint = 'Use up to 64 letters, digits, dashes and underscores, of which the first is a letter or a digit.';
  return invalidInput('spec.id', 'the id of a child has no dots', hint);
}
