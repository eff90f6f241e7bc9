import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import { MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import { type Page, scanRowsMax } from '../../base/page.js';
import { label } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import type { Right } from '../../capability/resource/rights.js';
import { rightsOfMask } from '../../capability/resource/rights.js';
import type { Asking } from '../../capability/rule/rule-gate.js';
import type { Caller } from '../../unit/caller.js';
import { type Link, type NumberedView, namespaceOf } from '../object/object.js';
import { type Accessed, ObjectAccess, unseen } from '../object/object-access.js';
import { mintHandle, type ObjectHandle } from '../object/object-handle.js';
import { ObjectRepository } from '../object/object-repository.js';
import { type StoredObject, toStored } from '../object/stored-object.js';
import { linksOptions, namespaceSpec, parseMemorySpec, querySpec, refSpec } from '../specs.js';
import { Views } from '../view/views.js';
import { VisibleVersions } from '../view/visible-versions.js';
import { ReadObject } from './read.js';

export interface MemoryView {
  readonly id: string;
  readonly mode: NumberedView['mode'];
  /** What is in it and in those that it was forked from, as far as the process may use it. */
  readonly roots: readonly ObjectHandle[];
}

const pageRows = 200;
const linksMax = 10_000;

/** Finding objects: by name, by what they are, along links, and all that a view holds. */
@injectable()
export class FindObjects {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(VisibleVersions) private readonly shown: VisibleVersions,
    @inject(Views) private readonly views: Views,
    @inject(ReadObject) private readonly reading: ReadObject,
  ) {}

  /** In the process's own namespace unless another is named. Throws NO_SUCH_OBJECT, whatever is missing. */
  async lookup(caller: Caller, pid: Pid, given: unknown, place?: unknown): Promise<ObjectHandle> {
    const name = parseMemorySpec(label, given, 'name');
    const namespace = place === undefined ? namespaceOf(pid) : parseMemorySpec(namespaceSpec, place, 'namespace');
    const id = await this.store.read((tx) => this.objects.named(tx, namespace, name));
    if (id === undefined) throw unseen(pid, `${namespace}/${name}`);
    try {
      return await this.reading.looking(caller, pid, id, 'read', (tx, accessed) => this.handle(tx, accessed));
    } catch (error) {
      // The name of what may not be read is not told apart from one that there is not.
      if (error instanceof MemoryError && error.code === 'NO_SUCH_OBJECT') throw unseen(pid, `${namespace}/${name}`);
      throw error;
    }
  }

  /** What of the process's view it may read and the filter selects, in the order of the ids. */
  async query(caller: Caller, pid: Pid, given: unknown = {}): Promise<Page<StoredObject>> {
    const { limit, after, ...filter } = parseMemorySpec(querySpec, given, 'filter');
    const items: StoredObject[] = [];
    let cursor = after ?? '';
    for (let scanned = 0; scanned < scanRowsMax; scanned += pageRows) {
      const from = cursor;
      const page = await this.store.read(async (tx) => this.page(tx, caller, pid, from));
      for (const { id, seen } of page.objects) {
        cursor = id;
        if (seen !== undefined && selects(filter, seen)) items.push(seen);
        if (items.length === limit) return { items, next: cursor };
      }
      if (page.last === undefined) return { items };
      cursor = page.last;
    }
    return { items, next: cursor };
  }

  async view(caller: Caller, pid: Pid): Promise<MemoryView> {
    const view = await this.store.read((tx) => this.viewOf(tx, pid));
    const roots: ObjectHandle[] = [];
    for (let after: ObjectId | undefined = ''; after !== undefined; ) {
      const from: ObjectId = after;
      after = await this.store.read(async (tx) => {
        const { ids, last } = await this.views.page(tx, view, from, pageRows);
        for (const id of ids) {
          const accessed = await this.readable(tx, caller, pid, id, 'read');
          if (accessed !== undefined) roots.push(await this.handle(tx, accessed));
        }
        return last;
      });
    }
    return { id: `view_${view.n}`, mode: view.mode, roots };
  }

  /** Along links whose ends the process may read, nearest first. Throws NO_SUCH_OBJECT. */
  async links(caller: Caller, pid: Pid, ref: unknown, given: unknown = {}): Promise<Link[]> {
    const start = parseMemorySpec(refSpec, ref, 'ref');
    const { relation, depth, direction } = parseMemorySpec(linksOptions, given, 'options');
    const directions = direction === 'both' ? (['out', 'in'] as const) : [direction];
    return this.reading.looking(caller, pid, start, 'read', async (tx) => {
      const found = new Map<string, Link>();
      const seen = new Set([start]);
      for (let level = 0, frontier = [start]; level < depth && frontier.length > 0; level++) {
        const next: ObjectId[] = [];
        for (const object of frontier) {
          for (const way of directions) {
            const scan = { direction: way, limit: linksMax, ...(relation === undefined ? {} : { relation }) };
            for (const link of await this.objects.links(tx, object, scan)) {
              const other = way === 'out' ? link.target : link.source;
              if (!(await this.readable(tx, caller, pid, other, 'read'))) continue;
              found.set(JSON.stringify([link.source, link.relation, link.target]), link);
              if (found.size === linksMax) return [...found.values()];
              if (!seen.has(other)) next.push(other);
              seen.add(other);
            }
          }
        }
        frontier = next;
      }
      return [...found.values()];
    });
  }

  /** The objects of one page of the view, those that may be read with what is in them. */
  private async page(tx: ReadTx, caller: Caller, pid: Pid, after: ObjectId) {
    const objects: { readonly id: ObjectId; readonly seen: StoredObject | undefined }[] = [];
    const { ids, last } = await this.views.page(tx, await this.viewOf(tx, pid), after, pageRows);
    for (const id of ids) {
      const accessed = await this.readable(tx, caller, pid, id, 'read');
      const seen = accessed && (await this.shown.seenBy(tx, pid, accessed.object)).version;
      objects.push({ id, seen: accessed && seen && toStored(accessed.object, seen) });
    }
    return { objects, last };
  }

  private async viewOf(tx: ReadTx, pid: Pid): Promise<NumberedView> {
    const view = await this.views.find(tx, (await this.holders.live(tx, pid)).view);
    if (view === undefined) throw unseen(pid, 'view');
    return view;
  }

  /** What may be used now without using anything up. */
  private async readable(tx: ReadTx, caller: Caller, pid: Pid, id: ObjectId, right: Right) {
    const asking: Asking = { via: caller.face, at: this.clock.peek() };
    const accessed = await this.access.tried(tx, asking, pid, id, right);
    return accessed !== undefined && accessed.warrant.counted === 0 ? accessed : undefined;
  }

  private async handle(tx: ReadTx, accessed: Accessed): Promise<ObjectHandle> {
    const { object, warrant } = accessed;
    return mintHandle(object.id, rightsOfMask(await this.access.rights(tx, accessed)), warrant.capability);
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
