import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import { prepareSchema, takeSchema } from '../../base/schema/answer-schema.js';
import { validate } from '../../base/schema/schema.js';
import type { StandardSchema } from '../../base/schema/schema-types.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { type ObjectVersion, type StoredObject, toObjectVersion, toStoredObject } from '../object/object.js';
import { type AccessedObject, ObjectAccess } from '../object/object-access.js';
import { parseMemorySpec, readOptions, refSpec } from '../specs.js';
import { VisibleVersions } from '../view/visible-versions.js';

/** Reads objects. A read is recorded only when it uses up a counted use or an approval, in a unit of its own. */
@injectable()
export class ReadObject {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(VisibleVersions) private readonly visibleVersions: VisibleVersions,
    @inject(MemoryRecorder) private readonly recorder: MemoryRecorder,
  ) {}

  /**
   * The version that the process's view shows, or an earlier one. Throws NO_SUCH_OBJECT, also for an object that it may not
   * read. Where an ask rule matches, behaves as `require`. With a schema in the options, the payload is its output; throws
   * INVALID_INPUT for one that does not fit.
   */
  async run(caller: Caller, pid: Pid, ref: unknown, options: unknown = {}): Promise<StoredObject<unknown>> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    const { schema, others } = takeSchema(options);
    const { version } = parseMemorySpec(readOptions, others, 'options');
    if (schema === undefined) return this.readBy(caller, pid, id, 'read', version);
    await prepareSchema(schema);
    return withValidPayload(await this.readBy(caller, pid, id, 'read', version), schema);
  }

  /** Reads by the given right; both rights show the payload. */
  readBy(caller: Caller, pid: Pid, id: ObjectId, right: 'read' | 'diff', version?: number): Promise<StoredObject> {
    return this.withAccess(caller, pid, id, right, async (tx, { object }) => {
      const current = (await this.visibleVersions.findForProcess(tx, pid, object)).version;
      if (version === undefined || version === current.version) return toStoredObject(object, current);
      const history = await this.visibleVersions.historyForProcess(tx, pid, object);
      const found = history.find((earlier) => earlier.version === version);
      if (found === undefined) throw noSuchVersion(id, version, current.version);
      return toStoredObject(object, found);
    });
  }

  /** The versions up to the one that the process sees, oldest first. Throws as `run`. */
  async history(caller: Caller, pid: Pid, ref: unknown): Promise<ObjectVersion[]> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    return this.withAccess(caller, pid, id, 'read', async (tx, { object }) => {
      return (await this.visibleVersions.historyForProcess(tx, pid, object)).map(toObjectVersion);
    });
  }

  /** Runs `read` on an object that `pid` has `right` on; again in a write unit where the access uses something up. */
  async withAccess<T>(
    caller: Caller,
    pid: Pid,
    id: ObjectId,
    right: 'read' | 'diff',
    read: (tx: ReadTx, accessed: AccessedObject) => Promise<T>,
  ): Promise<T> {
    const call: Call = { caller, actor: pid, action: `memory.${right}`, target: pid, kind: 'look' };
    const preview = await this.units.read(call, async (tx) => {
      const accessed = await this.access.preview(tx, { via: caller.face, at: this.clock.peek() }, pid, id, right);
      const { approval, counted } = accessed.authorization;
      return { value: await read(tx, accessed), isFree: approval === undefined && counted === 0 };
    });
    if (preview.isFree) return preview.value;
    return this.units.commit(call, async (tx: WriteTx, act) => {
      const accessed = await this.access.authorize(tx, act, pid, id, right);
      this.recorder.recordRead(tx, act, pid, call.action, accessed.authorization, { object: id });
      return read(tx, accessed);
    });
  }
}

async function withValidPayload(object: StoredObject, schema: StandardSchema): Promise<StoredObject<unknown>> {
  const payload = await validate(schema, structuredClone(object.payload), {
    path: 'object.payload',
    hint: 'Read it without a schema to see what it is, or have its writer write what fits.',
    facts: { object: object.id, version: object.version },
  });
  return { ...object, payload };
}

function noSuchVersion(object: ObjectId, version: number, newest: number): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `Object ${object} has no version ${version} here.`, {
    facts: { object, version, newest },
    hint: `memory.history shows the versions; the newest is ${newest}.`,
  });
}
