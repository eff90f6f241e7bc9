import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { type Accessed, ObjectAccess } from '../object/object-access.js';
import { type ObjectVersion, type StoredObject, toObjectVersion, toStored } from '../object/stored-object.js';
import { parseMemorySpec, readOptions, refSpec } from '../specs.js';
import { VisibleVersions } from '../view/visible-versions.js';

/** Looking at objects. Leaves no trace, unless it uses something up: then it is a unit of its own, and on record. */
@injectable()
export class ReadObject {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(VisibleVersions) private readonly shown: VisibleVersions,
    @inject(MemoryRecorder) private readonly journal: MemoryRecorder,
  ) {}

  /**
   * As the process's view shows it, or one of the versions up to that. Throws NO_SUCH_OBJECT, also for an object that it
   * may not read; where a rule asks, as `require` does.
   */
  async run(caller: Caller, pid: Pid, ref: unknown, given: unknown = {}): Promise<StoredObject> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    const { version } = parseMemorySpec(readOptions, given, 'options');
    return this.seen(caller, pid, id, 'read', version);
  }

  /** The same by another right that shows what is in an object. */
  seen(caller: Caller, pid: Pid, id: ObjectId, right: 'read' | 'diff', version?: number): Promise<StoredObject> {
    return this.looking(caller, pid, id, right, async (tx, { object }) => {
      const seen = (await this.shown.seenBy(tx, pid, object)).version;
      if (version === undefined || version === seen.version) return toStored(object, seen);
      const asked = (await this.shown.versionsSeenBy(tx, pid, object)).find((one) => one.version === version);
      if (asked === undefined) throw noSuchVersion(id, version, seen.version);
      return toStored(object, asked);
    });
  }

  /** The versions that led to what the process sees, oldest first. Throws as `run`. */
  async history(caller: Caller, pid: Pid, ref: unknown): Promise<ObjectVersion[]> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    return this.looking(caller, pid, id, 'read', async (tx, { object }) => {
      return (await this.shown.versionsSeenBy(tx, pid, object)).map(toObjectVersion);
    });
  }

  /** Runs `look` on an object that `pid` has `right` on, in a unit of its own where that uses something up. */
  async looking<T>(
    caller: Caller,
    pid: Pid,
    id: ObjectId,
    right: 'read' | 'diff',
    look: (tx: ReadTx, accessed: Accessed) => Promise<T>,
  ): Promise<T> {
    const call: Call = { caller, actor: pid, action: `memory.${right}`, target: pid };
    const seen = await this.units.read(call, async (tx) => {
      const accessed = await this.access.look(tx, { via: caller.face, at: this.clock.peek() }, pid, id, right);
      const { approval, counted } = accessed.warrant;
      return { value: await look(tx, accessed), isFree: approval === undefined && counted === 0 };
    });
    if (seen.isFree) return seen.value;
    return this.units.commit(call, async (tx: WriteTx, act) => {
      const accessed = await this.access.take(tx, act, pid, id, right);
      this.journal.looked(tx, act, pid, call.action, accessed.warrant, { object: id });
      return look(tx, accessed);
    });
  }
}

function noSuchVersion(object: ObjectId, version: number, newest: number): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `Object ${object} has no version ${version} here.`, {
    facts: { object, version, newest },
    hint: `memory.history shows the versions; the newest is ${newest}.`,
  });
}
