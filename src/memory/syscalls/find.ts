import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import { MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import { type Page, scanRowsMax } from '../../base/page.js';
import { label } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import { rightsOfMask } from '../../capability/resource/rights.js';
import type { CallContext } from '../../capability/rule/rule-gate.js';
import type { Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import {
  type Link,
  mintHandle,
  type NumberedView,
  namespaceOf,
  type ObjectHandle,
  type StoredObject,
  toStoredObject,
} from '../object/object.js';
import { type AccessedObject, noVisibleObject, ObjectAccess } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { linksOptions, namespaceSpec, parseMemorySpec, querySpec, refSpec } from '../specs.js';
import { Views } from '../view/views.js';
import { VisibleVersions } from '../view/visible-versions.js';
import { ReadObject } from './read.js';

/** The view of a process: the objects that its queries and contexts range over. */
export interface MemoryView {
  readonly id: string;
  /** Whether changes go to the objects themselves, are refused, or stay in the view until they are merged or dropped. */
  readonly mode: NumberedView['mode'];
  /** The objects in the view and in its bases that the process may read. */
  readonly roots: readonly ObjectHandle[];
}

const pageRows = 200;
const linksMax = 10_000;

/** Finds objects: by name, by a filter, along links, and all in a view. */
@injectable()
export class FindObjects {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(VisibleVersions) private readonly visibleVersions: VisibleVersions,
    @inject(Views) private readonly views: Views,
    @inject(ReadObject) private readonly readObject: ReadObject,
    @inject(Units) private readonly units: Units,
  ) {}

  /** Looks in the process's own namespace unless another is given. Throws NO_SUCH_OBJECT, also where reading is refused. */
  async lookup(caller: Caller, pid: Pid, nameInput: unknown, namespaceInput?: unknown): Promise<ObjectHandle> {
    const name = parseMemorySpec(label, nameInput, 'name');
    const namespace =
      namespaceInput === undefined ? namespaceOf(pid) : parseMemorySpec(namespaceSpec, namespaceInput, 'namespace');
    const id = await this.store.read((tx) => this.objects.findByName(tx, namespace, name));
    if (id === undefined) throw noVisibleObject(pid, `${namespace}/${name}`);
    try {
      return await this.readObject.withAccess(caller, pid, id, 'read', (tx, accessed) => this.toHandle(tx, accessed));
    } catch (error) {
      // The error names what the caller gave and not the id, so that an unreadable object looks like a missing one.
      if (error instanceof MemoryError && error.code === 'NO_SUCH_OBJECT')
        throw noVisibleObject(pid, `${namespace}/${name}`);
      throw error;
    }
  }

  /** The objects of the view that the process may read and the filter selects, in the order of the ids. */
  async query(caller: Caller, pid: Pid, input: unknown = {}): Promise<Page<StoredObject>> {
    const { limit, after, ...filter } = parseMemorySpec(querySpec, input, 'filter');
    await this.units.assertMayLook(caller);
    const items: StoredObject[] = [];
    const turns = new Turns();
    let cursor = after ?? '';
    for (let scanned = 0; scanned < scanRowsMax; scanned += pageRows) {
      const from = cursor;
      const page = await this.store.read(async (tx) => this.readPage(tx, caller, pid, from));
      for (const { id, object } of page.objects) {
        await turns.next();
        cursor = id;
        if (object !== undefined && selects(filter, object)) items.push(object);
        if (items.length === limit) return { items, next: cursor };
      }
      if (page.last === undefined) return { items };
      cursor = page.last;
    }
    return { items, next: cursor };
  }

  async view(caller: Caller, pid: Pid): Promise<MemoryView> {
    await this.units.assertMayLook(caller);
    const view = await this.store.read((tx) => this.findView(tx, pid));
    const roots: ObjectHandle[] = [];
    const turns = new Turns();
    for (let after: ObjectId | undefined = ''; after !== undefined; ) {
      const from: ObjectId = after;
      after = await this.store.read(async (tx) => {
        const { ids, last } = await this.views.page(tx, view, from, pageRows);
        for (const id of ids) {
          await turns.next();
          const accessed = await this.findReadable(tx, caller, pid, id);
          if (accessed !== undefined) roots.push(await this.toHandle(tx, accessed));
        }
        return last;
      });
    }
    return { id: `view_${view.n}`, mode: view.mode, roots };
  }

  /** Follows links whose ends the process may read, nearest first. Throws NO_SUCH_OBJECT. */
  async links(caller: Caller, pid: Pid, ref: unknown, options: unknown = {}): Promise<Link[]> {
    const start = parseMemorySpec(refSpec, ref, 'ref');
    const { relation, depth, direction } = parseMemorySpec(linksOptions, options, 'options');
    const directions = direction === 'both' ? (['out', 'in'] as const) : [direction];
    return this.readObject.withAccess(caller, pid, start, 'read', async (tx) => {
      const found = new Map<string, Link>();
      const visited = new Set([start]);
      for (let level = 0, frontier = [start]; level < depth && frontier.length > 0; level++) {
        const next: ObjectId[] = [];
        for (const object of frontier) {
          for (const linkDirection of directions) {
            const scan = { direction: linkDirection, limit: linksMax, ...(relation === undefined ? {} : { relation }) };
            for (const link of await this.objects.links(tx, object, scan)) {
              const neighbour = linkDirection === 'out' ? link.target : link.source;
              if (!(await this.findReadable(tx, caller, pid, neighbour))) continue;
              found.set(JSON.stringify([link.source, link.relation, link.target]), link);
              if (found.size === linksMax) return [...found.values()];
              if (!visited.has(neighbour)) next.push(neighbour);
              visited.add(neighbour);
            }
          }
        }
        frontier = next;
      }
      return [...found.values()];
    });
  }

  /** The ids of one page of the view, with the objects where the process may read them. */
  private async readPage(tx: ReadTx, caller: Caller, pid: Pid, after: ObjectId) {
    const objects: { readonly id: ObjectId; readonly object: StoredObject | undefined }[] = [];
    const { ids, last } = await this.views.page(tx, await this.findView(tx, pid), after, pageRows);
    const turns = new Turns();
    for (const id of ids) {
      await turns.next();
      const accessed = await this.findReadable(tx, caller, pid, id);
      const version = accessed && (await this.visibleVersions.findForProcess(tx, pid, accessed.object)).version;
      objects.push({ id, object: accessed && version && toStoredObject(accessed.object, version) });
    }
    return { objects, last };
  }

  private async findView(tx: ReadTx, pid: Pid): Promise<NumberedView> {
    const view = await this.views.find(tx, (await this.holders.findLive(tx, pid)).view);
    if (view === undefined) throw noVisibleObject(pid, 'view');
    return view;
  }

  /** The object, if the process may read it without using up a counted use. */
  private async findReadable(tx: ReadTx, caller: Caller, pid: Pid, id: ObjectId) {
    const context: CallContext = { via: caller.face, at: this.clock.peek() };
    const accessed = await this.access.tryPreview(tx, context, pid, id, 'read');
    return accessed !== undefined && accessed.authorization.counted === 0 ? accessed : undefined;
  }

  private async toHandle(tx: ReadTx, accessed: AccessedObject): Promise<ObjectHandle> {
    const { object, authorization } = accessed;
    return mintHandle(object.id, rightsOfMask(await this.access.handleRights(tx, accessed)), authorization.capability);
  }
}

type Filter = Omit<z.output<typeof querySpec>, 'limit' | 'after'>;

function selects(filter: Filter, { type, tags, name, namespace, title, createdBy, payload }: StoredObject): boolean {
  if (filter.types !== undefined && !filter.types.includes(type)) return false;
  if (filter.tags !== undefined && !filter.tags.every((tag) => tags.includes(tag))) return false;
  if (filter.name !== undefined && filter.name !== name) return false;
  if (filter.namespace !== undefined && filter.namespace !== namespace) return false;
  if (filter.createdBy !== undefined && filter.createdBy !== createdBy) return false;
  if (filter.text === undefined) return true;
  const text = [name, title, JSON.stringify(payload)].join('\n').toLowerCase();
  return text.includes(filter.text.toLowerCase());
}
