import { inject, injectable } from 'inversify';
import { MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { CapabilityRecord, Receiver } from '../../capability/holding/capability-record.js';
import { Grants } from '../../capability/holding/grants.js';
import type { ObjectRecord } from '../../memory/object/object.js';
import { ObjectRepository } from '../../memory/object/object-repository.js';

/** Objects that are handed on: as the goal of a process, as its result, or in a message. */
@injectable()
export class ShareableObjects {
  constructor(
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(Grants) private readonly grants: Grants,
  ) {}

  /** Throws NO_SUCH_OBJECT for a deleted object too. */
  async get(tx: ReadTx, id: ObjectId): Promise<ObjectRecord> {
    const object = await this.objects.find(tx, id);
    if (object === undefined || object.deletedAt !== null) throw noSuchObject(id);
    return object;
  }

  /**
   * The capability by which `giver` may hand on the right to read `object`. Throws NO_SUCH_OBJECT where it has none, so
   * that the refusal does not tell that the object exists.
   */
  async getGrant(tx: ReadTx, giver: Pid, object: ObjectRecord, now: number): Promise<CapabilityRecord> {
    const permission = await this.grants.findRead(tx, giver, object, 'grant', now);
    if (permission === undefined) throw noSuchObject(object.id);
    return permission.record;
  }

  /**
   * The right to read an object for `to` when `by` ends in the same unit: it is derived from what `by` was derived from,
   * within the limits of `by`. The record is not stored.
   */
  async createLastingRead(tx: ReadTx, object: ObjectId, by: CapabilityRecord, to: Receiver): Promise<CapabilityRecord> {
    const { parent, depth, grantedBy } = by;
    return { ...(await this.grants.createReadShare(tx, object, by.id, to)), parent, depth, grantedBy };
  }
}

/** Also thrown for an object that the process may not hand on. */
export function noSuchObject(id: string): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `There is no object ${id} that may be used here.`, {
    facts: { object: id },
    hint: 'Use a handle that the process itself got, on an object that it may hand on.',
  });
}
