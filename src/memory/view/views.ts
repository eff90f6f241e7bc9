import { inject, injectable } from 'inversify';
import type { CapabilityId, ObjectId } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { Grants } from '../../capability/holding/grants.js';
import { maskOfRights, type Right } from '../../capability/resource/rights.js';
import {
  copies,
  type EntryState,
  type NumberedView,
  type ObjectRecord,
  type Snapshot,
  type ViewEntry,
  type ViewNarrowing,
} from '../object/object.js';
import { ObjectRepository } from '../object/object-repository.js';
import { ViewRepository } from './view-repository.js';

/** What a process reaches through the views that its own was forked from. */
export interface Reached {
  readonly capability: CapabilityId;
  readonly rights: number;
}

/** A view that another one was forked from, at once or through others, and how an object stands in it. */
export interface Base {
  readonly view: NumberedView;
  /** As of when the fork shows it. */
  readonly asOf: Snapshot;
  /** What the forks on the way here leave of rights, as a mask. */
  readonly rights: number;
  readonly standing: Exclude<EntryState, 'out'> | 'root';
}

/** A part of what is in a view; there may be more after `last`. */
export interface ViewPage {
  readonly ids: readonly ObjectId[];
  readonly last: ObjectId | undefined;
}

/** Behind every row of the logs. */
export const latest: Snapshot = { entries: Number.MAX_SAFE_INTEGER, versions: Number.MAX_SAFE_INTEGER };

const seeing = maskOfRights(['read', 'diff', 'materialize']);
const writing = maskOfRights(['write']);
const readMask = maskOfRights(['read']);
/** The rights that a fork can have on what it was forked with. */
export const throughViews = seeing | writing;

/** Views: what is in them, and how far that goes. */
@injectable()
export class Views {
  constructor(
    @inject(ViewRepository) private readonly repository: ViewRepository,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Grants) private readonly grants: Grants,
  ) {}

  find(tx: ReadTx, n: number): Promise<NumberedView | undefined> {
    return this.repository.find(tx, n);
  }

  /**
   * How `object` is reached through what `view` was forked from: it was in one of those views at the fork, and the
   * capability that it was added under is live now, can be handed on, and has no finite uses. A snapshot is not authority.
   */
  async through(tx: ReadTx, view: NumberedView, object: ObjectRecord, at: number): Promise<Reached | undefined> {
    for await (const base of this.bases(tx, view, object)) {
      const entry = await this.entry(tx, base, object, at);
      const record = entry && (await this.capabilities.find(tx, entry.capability));
      if (entry === undefined || record === undefined) continue;
      if (record.uses !== null || (record.grantable & readMask) === 0) continue;
      if ((await this.evaluator.status(tx, record, at)) !== 'live') continue;
      return { capability: record.id, rights: entry.rights & base.rights };
    }
    return undefined;
  }

  /** How a fork of `view` that copies, and leaves nothing out, would reach it if it were made now. */
  byFork(tx: ReadTx, view: NumberedView, object: ObjectRecord, at: number): Promise<Reached | undefined> {
    const live = { base: view.n, baseEntries: null, baseVersions: null, narrowing: null };
    return this.through(tx, { ...view, ...live, mode: 'copy_on_write' }, object, at);
  }

  /** Whether it is in the view now, by a row of its own, as the root, which needs none, or from the base. */
  async holds(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<boolean> {
    if (view.root === object.id) return true;
    const standing = await this.repository.standing(tx, view.n, object.id);
    return standing === undefined ? this.isInBase(tx, view, object) : standing !== 'out';
  }

  /** Whether it was in one of the views that this one was forked from, at the fork, and nothing on the way has left it out. */
  async isInBase(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<boolean> {
    for await (const { standing } of this.bases(tx, view, object)) if (standing !== undefined) return true;
    return false;
  }

  /**
   * The views that `view` was forked from, nearest first, as of the fork: as far as no fork on the way there leaves the
   * object out and it was not taken out on the way.
   */
  async *bases(tx: ReadTx, view: NumberedView, object: ObjectRecord): AsyncGenerator<Base> {
    let rights = throughViews;
    let asOf = latest;
    for (let fork = view; fork.base !== null && isLeft(fork.narrowing, object); ) {
      rights &= rightsLeft(fork);
      asOf = earlier(asOf, fork);
      const at = await this.repository.find(tx, fork.base);
      if (at === undefined) return;
      const isRoot = at.root === object.id;
      const standing = isRoot ? 'root' : await this.repository.standing(tx, at.n, object.id, asOf.entries);
      if (standing === 'out') return;
      yield { view: at, asOf, rights, standing };
      fork = at;
    }
  }

  /** Ids of what is in the view, in order; whether each may be used is another question. */
  async page(tx: ReadTx, view: NumberedView, after: ObjectId, limit: number): Promise<ViewPage> {
    const found = new Map<ObjectId, Place>();
    let asOf = latest;
    let isNarrowed = false;
    for (let at: NumberedView | undefined = view; at !== undefined; ) {
      const rows = await this.repository.standings(tx, at.n, { asOf: asOf.entries, after, limit });
      const place = isNarrowed ? 'behind a narrowing' : 'in';
      if (at.root > after) note(found, at.root, place);
      for (const { object, standing } of rows) {
        note(found, object, standing === undefined ? undefined : standing === 'out' ? 'out' : place);
      }
      asOf = earlier(asOf, at);
      isNarrowed ||= at.narrowing !== null;
      at = at.base === null ? undefined : await this.repository.find(tx, at.base);
    }
    const page = [...found.keys()].sort().slice(0, limit);
    const ids: ObjectId[] = [];
    for (const id of page) if (await this.isIn(tx, view, id, found.get(id))) ids.push(id);
    return { ids, last: page.length < limit ? undefined : page.at(-1) };
  }

  /** What is not there any more is told by nobody behind a narrowing: whether that would have left it is not known. */
  private async isIn(tx: ReadTx, view: NumberedView, id: ObjectId, place: Place): Promise<boolean> {
    if (place !== 'behind a narrowing') return place === 'in';
    const object = await this.objects.find(tx, id);
    return object !== undefined && this.isInBase(tx, view, object);
  }

  /** The entry of an object in a base. The root has the one that the capability to hand it on would give it. */
  private async entry(
    tx: ReadTx,
    { view, standing }: Base,
    object: ObjectRecord,
    at: number,
  ): Promise<ViewEntry | undefined> {
    if (standing !== 'root') return standing;
    const by = await this.grants.reading(tx, view.pid, object, 'grant', at);
    return by === undefined ? undefined : { object: object.id, capability: by.record.id, rights: seeing };
  }
}

/** Where an id of a page was met first; not at all where a row only says that it is as in the base. */
type Place = 'in' | 'behind a narrowing' | 'out' | undefined;

/** The nearest view that says something decides. */
function note(found: Map<ObjectId, Place>, id: ObjectId, place: Place): void {
  if (found.get(id) === undefined) found.set(id, place);
}

function earlier(mark: Snapshot, { baseEntries, baseVersions }: NumberedView): Snapshot {
  return {
    entries: Math.min(mark.entries, baseEntries ?? mark.entries),
    versions: Math.min(mark.versions, baseVersions ?? mark.versions),
  };
}

/** What a fork leaves of rights: seeing, and writing into its own overlay where it has one. */
function rightsLeft(view: NumberedView): number {
  const kept = copies(view) ? throughViews : seeing;
  const rights = view.narrowing?.rights;
  return rights === undefined ? kept : kept & maskOfRights(rights as Right[]);
}

function isLeft(narrowing: ViewNarrowing | null, { id, type, tags }: ObjectRecord): boolean {
  if (narrowing?.roots !== undefined && !narrowing.roots.includes(id)) return false;
  if (narrowing?.types !== undefined && !narrowing.types.includes(type)) return false;
  return narrowing?.tags === undefined || narrowing.tags.some((tag) => tags?.includes(tag) === true);
}
