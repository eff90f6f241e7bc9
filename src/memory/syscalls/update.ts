import { inject, injectable } from 'inversify';
import { MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import { rightsOfMask } from '../../capability/resource/rights.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { ObjectAccess } from '../object/object-access.js';
import { mintHandle, type ObjectHandle } from '../object/object-handle.js';
import { newVersion } from '../object/objects.js';
import { VersionWriter } from '../object/version-writer.js';
import { Payloads } from '../payloads.js';
import { parseMemorySpec, refSpec, updateOptions } from '../specs.js';

@injectable()
export class UpdateObject {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Payloads) private readonly payloads: Payloads,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(VersionWriter) private readonly writing: VersionWriter,
    @inject(MemoryRecorder) private readonly journal: MemoryRecorder,
  ) {}

  /**
   * Gives an object a new version; through a view that was forked to copy, a version of that view's own. Throws
   * NO_SUCH_OBJECT, IMMUTABLE, VERSION_CONFLICT.
   */
  async run(caller: Caller, pid: Pid, ref: unknown, given: unknown, options: unknown = {}): Promise<ObjectHandle> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    const payload = this.payloads.copied(given, 'payload');
    const { ifVersion } = parseMemorySpec(updateOptions, options, 'options');
    const call: Call = { caller, actor: pid, action: 'memory.update', target: pid };
    return this.units.commit(call, async (tx, act) => {
      const accessed = await this.access.take(tx, act, pid, id, 'write');
      const { object, warrant } = accessed;
      if (object.immutable) throw immutable(id);
      const place = await this.writing.place(tx, pid, object);
      const { version } = place.before;
      if (ifVersion !== undefined && ifVersion !== version) throw versionConflict(id, ifVersion, version);
      const next = newVersion(version + 1, payload, null, pid, act.at);
      await this.writing.write(tx, place, next);
      this.journal.updated(tx, act, pid, id, next, place.view?.n ?? null, warrant);
      return mintHandle(id, rightsOfMask(await this.access.rights(tx, accessed)), warrant.capability);
    });
  }
}

function immutable(object: ObjectId): MemoryError {
  return new MemoryError('IMMUTABLE', `Object ${object} was made to stay as it is.`, {
    facts: { object },
    hint: 'Create another one with this one among its sources, or create it with immutable: false.',
  });
}

function versionConflict(object: ObjectId, expected: number, actual: number): MemoryError {
  return new MemoryError('VERSION_CONFLICT', `Object ${object} is at version ${actual}, not ${expected}.`, {
    facts: { object, expected, actual },
    hint: 'Read it again, and repeat the update on what is there now.',
  });
}
