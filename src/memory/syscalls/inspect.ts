import { inject, injectable } from 'inversify';
import { Inspections } from '../../audit/writing/inspections.js';
import { MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import { type Page, scanRowsMax } from '../../base/page.js';
import { type ReadTx, Store } from '../../base/store.js';
import type { AuditAction } from '../../unit/actions.js';
import { type ObjectInfo, type ObjectRecord, type StoredObject, toStoredObject } from '../object/object.js';
import { type ObjectDescription, ObjectRepository } from '../object/object-repository.js';
import { listSpec, parseMemorySpec, refSpec } from '../specs.js';

const scanPageRows = 500;

/** Reads of the host, which sees every object: also those of ended processes, and what is left of deleted ones. */
@injectable()
export class InspectObjects {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(Inspections) private readonly inspections: Inspections,
  ) {}

  /** The newest version of the main line. On record. Throws NO_SUCH_OBJECT. */
  async run(ref: unknown): Promise<StoredObject> {
    return this.inspect('memory.inspect', parseMemorySpec(refSpec, ref, 'ref'));
  }

  /** As `run`, on record as `action`; `target` is the process that the host asked about. */
  async inspect(action: AuditAction, id: ObjectId, target?: Pid): Promise<StoredObject> {
    const object = await this.store.read((tx) => this.objects.find(tx, id));
    if (object === undefined) throw noSuchObject(id);
    await this.inspections.record({ action, object: id, ...(target === undefined ? {} : { target }) });
    return { ...toStoredObject(object, object), ...deletionOf(object) };
  }

  /** Objects without their payloads, in the order of their ids. It reads no more than 10,000 rows; `next` says that there may be more. */
  async list(input: unknown = {}): Promise<Page<ObjectInfo>> {
    const { limit, after = '', pid, type, name } = parseMemorySpec(listSpec, input, 'filter');
    const filter = { createdBy: pid ?? null, type: type ?? null, name: name ?? null };
    const items: ObjectInfo[] = [];
    let cursor: ObjectId = after;
    for (let scanned = 0; scanned < scanRowsMax; scanned += scanPageRows) {
      const from = cursor;
      const { found, last } = await this.store.read((tx) => this.objects.scan(tx, filter, from, scanPageRows));
      for (const object of found) {
        items.push(toObjectInfo(object));
        if (items.length === limit) return { items, next: object.id };
      }
      if (last === undefined) return { items };
      cursor = last;
    }
    return { items, next: cursor };
  }

  /** The id of the object that a process has named so in its own namespace, also where it was deleted. */
  async findNamed(namespace: string, name: string, createdBy: Pid, after: ObjectId): Promise<ObjectId | undefined> {
    const live = await this.store.read((tx: ReadTx) => this.objects.findByName(tx, namespace, name));
    if (live !== undefined) return live;
    const filter = { createdBy, type: null, name };
    let cursor = after;
    for (let scanned = 0; scanned < scanRowsMax; scanned += scanPageRows) {
      const from = cursor;
      const { found, last } = await this.store.read((tx) => this.objects.scan(tx, filter, from, scanPageRows));
      const newest = found.filter((object) => object.namespace === namespace).at(-1);
      if (newest !== undefined || last === undefined) return newest?.id;
      cursor = last;
    }
    return undefined;
  }
}

function toObjectInfo(object: ObjectDescription): ObjectInfo {
  const { payload: _payload, ...info } = toStoredObject({ ...object, payload: null }, { ...object, payload: null });
  return { ...info, ...deletionOf(object) };
}

function deletionOf({ deletedAt }: Pick<ObjectRecord, 'deletedAt'>): { deletedAt?: number } {
  return deletedAt === null ? {} : { deletedAt };
}

function noSuchObject(object: ObjectId): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `There is no object ${JSON.stringify(object)}.`, {
    facts: { object },
    hint: 'memory.list names the objects of a process; those of a pruned process may be gone.',
  });
}
