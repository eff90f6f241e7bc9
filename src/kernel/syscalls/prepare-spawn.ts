import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { InputError, MemoryError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { canonicalJson, type JsonValue, sha256Hex } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/plain.js';
import type { ReadTx } from '../../base/store.js';
import { Grants } from '../../capability/holding/grants.js';
import { ObjectHandle } from '../../memory/object/object-handle.js';
import { ObjectRepository } from '../../memory/object/object-repository.js';
import { PayloadParser } from '../../memory/object/object-writer.js';
import type { Caller } from '../../unit/caller.js';
import { CommandPlans } from '../command/command-plans.js';
import { SpawnExtrasRepository } from '../lifecycle/spawn-extras-repository.js';
import type { Goal, NewProcess } from '../lifecycle/spawning.js';
import { type ImageFacts, Images } from '../process/images.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import type { childSpec } from '../specs.js';
import { FolderAccess } from '../workspace/folder-access.js';

type BornSpec = Omit<z.output<typeof childSpec>, 'delegate'>;
/** A whole spec before anything of it was filled in from elsewhere. */
type GivenSpec = { readonly goal?: BornSpec['goal']; readonly [property: string]: unknown };

/** What every kind of birth has in common, looked at before the unit. */
export type PreparedSpawn = Omit<NewProcess, 'pid' | 'parent' | 'goal' | 'cwd' | 'authority' | 'fork'> & {
  readonly goal: { readonly payload: JsonValue } | ObjectHandle;
  /** Absent: the parent's. */
  readonly cwd?: string;
};

type ChildBirth = Omit<NewProcess, 'authority' | 'fork'>;

const pidCharsMax = 512;

/** The parts of spawn, spawnChild and fork that are the same. */
@injectable()
export class SpawnPreparer {
  constructor(
    @inject(Images) private readonly images: Images,
    @inject(FolderAccess) private readonly access: FolderAccess,
    @inject(SpawnExtrasRepository) private readonly births: SpawnExtrasRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(Grants) private readonly grants: Grants,
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(CommandPlans) private readonly plans: CommandPlans,
  ) {}

  /** `given` is what an id stands for. Throws NO_SUCH_IMAGE, INVALID_INPUT, INVALID_PATH, CAPABILITY_DENIED. */
  async shape(caller: Caller, parent: Pid | null, spec: BornSpec, given: GivenSpec = spec): Promise<PreparedSpawn> {
    if (spec.onParentExit === 'detach' && caller.face === 'process') throw hostOnly();
    const image = this.images.resolve(spec.image);
    const args = await parseArgs(image, spec.args);
    const command = image.kind === 'command' ? await this.plans.ofImage(image, args, parent) : undefined;
    return {
      image,
      args,
      goal: prepareGoal(this.payloads, spec.goal ?? {}),
      ...(spec.cwd === undefined ? {} : await this.access.find(caller, 'process.spawnChild', '.', spec.cwd)),
      name: spec.name ?? null,
      labels: spec.labels ?? null,
      owner: (spec.owner as NewProcess['owner']) ?? null,
      env: spec.env ?? null,
      budget: spec.budget as NewProcess['budget'],
      onBudget: spec.onBudget,
      deadlineMs: spec.deadlineMs ?? command?.timeoutMs ?? null,
      onParentExit: spec.onParentExit,
      held: spec.held,
      registration: spec.id === undefined ? null : { id: spec.id, hash: registrationHash(parent, given) },
      ...(command === undefined ? {} : { command }),
    };
  }

  /** The process that the same id and spec have made before, if any. Throws CONFLICT for another spec. */
  async earlier(tx: ReadTx, parent: Pid | null, shaped: PreparedSpawn): Promise<Pid | undefined> {
    if (shaped.registration === null) return undefined;
    const { id, hash } = shaped.registration;
    const found = await this.births.findRegistration(tx, parent, id);
    if (found === undefined || found.hash === hash) return found?.pid;
    throw idTaken(id, found.pid);
  }

  /** A child of `parent`, but for its authority and its view. Throws CONFLICT, NO_SUCH_OBJECT. */
  async child(tx: ReadTx, parent: ProcessRow, shaped: PreparedSpawn, now: number): Promise<ChildBirth> {
    const pid = await this.childPid(tx, parent.pid, shaped);
    const goal = await this.goal(tx, parent.pid, shaped.goal, now);
    return { cwd: parent.cwd, ...shaped, ...pid, goal, parent };
  }

  /** The pid of a child that is given an id: it can be known before the child is there. */
  private async childPid(tx: ReadTx, parent: Pid, shaped: PreparedSpawn): Promise<{ pid?: Pid }> {
    if (shaped.registration === null) return {};
    const pid = `${parent}.${shaped.registration.id}`;
    if (pid.length > pidCharsMax) throw pidTooLong(pid);
    if ((await this.processes.find(tx, pid)) !== undefined) throw idTaken(shaped.registration.id, pid);
    return { pid };
  }

  /** A goal given as a handle is a delegation of `read`: `giver` must be able to hand it on. Throws NO_SUCH_OBJECT. */
  async goal(tx: ReadTx, giver: Pid | 'host', given: PreparedSpawn['goal'], now: number): Promise<Goal> {
    if (!ObjectHandle.is(given)) return given;
    const object = await this.objects.find(tx, given.id);
    if (object === undefined || object.deletedAt !== null) throw noSuchObject(given.id);
    if (giver === 'host') return { object: object.id, readableBy: 'host' };
    const by = await this.grants.findRead(tx, giver, object, 'grant', now);
    if (by === undefined) throw noSuchObject(given.id);
    return { object: object.id, readableBy: by.record.id };
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

export function noSuchObject(id: string): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `There is no object ${id} that may be used here.`, {
    facts: { object: id },
    hint: 'Use a handle that the process itself got, on an object that it may hand on.',
  });
}

/** Over the parent and the spec; a handle counts by its object. */
function registrationHash(parent: Pid | null, spec: GivenSpec): string {
  const goal = ObjectHandle.is(spec.goal) ? { object: spec.goal.id } : (spec.goal ?? null);
  return sha256Hex(canonicalJson({ parent, spec: { ...spec, goal } as JsonValue }));
}

function hostOnly(): InputError {
  return new InputError('INVALID_INPUT', "spec.onParentExit: 'detach' is for the host only.", {
    facts: { path: 'spec.onParentExit' },
    hint: "Use 'cancel' or 'reparent', or have the host spawn it.",
  });
}

function idTaken(id: string, pid: Pid): ProcessError {
  return new ProcessError('CONFLICT', `The id ${id} was used for process ${pid} with another spec.`, {
    facts: { id, pid },
    hint: 'Use another id, or exactly the same spec.',
  });
}

function pidTooLong(pid: string): InputError {
  return new InputError('INVALID_INPUT', `The pid would have ${pid.length} characters.`, {
    facts: { length: pid.length, max: pidCharsMax },
    hint: 'Use shorter ids, or none.',
  });
}
