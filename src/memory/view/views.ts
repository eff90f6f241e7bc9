import { inject, injectable } from 'inversify';
import type { CapabilityId, ObjectId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { Grants } from '../../capability/holding/grants.js';
import { maskOfRights, type Right } from '../../capability/resource/rights.js';
import {
  type EntryState,
  type NumberedView,
  type ObjectRecord,
  type Snapshot,
  type ViewEntry,
  type ViewNarrowing,
  writesToOverlay,
} from '../object/object.js';
import { ObjectRepository } from '../object/object-repository.js';
import { ViewRepository } from './view-repository.js';

/** Access to an object that a process has through the views that its own was forked from. */
export interface InheritedAccess {
  readonly capability: CapabilityId;
  readonly rights: number;
}

/** A view that another one was forked from, directly or through others, and the state of an object in it. */
export interface BaseView {
  readonly view: NumberedView;
  /** The state of the logs that the fork shows. */
  readonly asOf: Snapshot;
  /** The rights that the forks in between leave, as a mask. */
  readonly rights: number;
  readonly entryState: Exclude<EntryState, 'out'> | 'root';
}

/** A page of the ids in a view; where `last` is given, there may be more after it. */
export interface ViewPage {
  readonly ids: readonly ObjectId[];
  readonly last: ObjectId | undefined;
}

/** Later than every row of the logs: the current state. */
export const latestSnapshot: Snapshot = { entries: Number.MAX_SAFE_INTEGER, versions: Number.MAX_SAFE_INTEGER };

const viewingRights = maskOfRights(['read', 'diff', 'materialize']);
const writeRight = maskOfRights(['write']);
const readMask = maskOfRights(['read']);
/** The rights that a fork can have on objects of its base. */
export const inheritableRights = viewingRights | writeRight;

/** The contents of views, and the access that forks inherit from them. */
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
   * Access to `object` through the bases of `view`: it was in one of them at the fork, and the capability that it was added
   * under is live now, can be handed on, and has no use limit. Having been in the snapshot alone gives no access.
   */
  async inheritedAccessOf(
    tx: ReadTx,
    view: NumberedView,
    object: ObjectRecord,
    at: number,
  ): Promise<InheritedAccess | undefined> {
    for await (const base of this.bases(tx, view, object)) {
      const entry = await this.entryOf(tx, base, object, at);
      const record = entry && (await this.capabilities.find(tx, entry.capability));
      if (entry === undefined || record === undefined) continue;
      if (record.uses !== null || (record.grantable & readMask) === 0) continue;
      if ((await this.evaluator.statusOf(tx, record, at)) !== 'live') continue;
      return { capability: record.id, rights: entry.rights & base.rights };
    }
    return undefined;
  }

  /** The access that a copying fork of `view` without a narrowing would inherit if it were made now. */
  forkAccessOf(tx: ReadTx, view: NumberedView, object: ObjectRecord, at: number): Promise<InheritedAccess | undefined> {
    const liveBase = { base: view.n, baseEntries: null, baseVersions: null, narrowing: null };
    return this.inheritedAccessOf(tx, { ...view, ...liveBase, mode: 'copy_on_write' }, object, at);
  }

  /** Adds an object to the view by a capability of its own process. False where a live capability has put it there. */
  async add(tx: WriteTx, view: NumberedView, entry: ViewEntry, at: number): Promise<boolean> {
    const state = await this.repository.entryState(tx, view.n, entry.object);
    if (state === undefined && view.root === entry.object) return false;
    if (typeof state === 'object' && (await this.isUsable(tx, state, at))) return false;
    await this.repository.addEntry(tx, view.n, entry);
    return true;
  }

  /** Whether the entry's capability is live. Forks inherit nothing through an entry of a dead one, so that one is replaced. */
  private async isUsable(tx: ReadTx, { capability }: ViewEntry, at: number): Promise<boolean> {
    const record = await this.capabilities.find(tx, capability);
    return record !== undefined && (await this.evaluator.statusOf(tx, record, at)) === 'live';
  }

  /** Puts the new goal of a process into its view, and takes the one that it had out of it, also out of what forks see. */
  async replaceGoal(tx: WriteTx, viewNumber: number, goal: ObjectId, entry: ViewEntry): Promise<void> {
    const view = await this.repository.find(tx, viewNumber);
    if (view === undefined || goal === entry.object) return;
    const object = await this.objects.find(tx, goal);
    if (object !== undefined && (await this.holds(tx, view, object)))
      await this.repository.removeObject(tx, view.n, goal);
    await this.repository.addEntry(tx, view.n, entry);
  }

  /** Whether the object is in the view now: by an entry, as the root, which needs no entry, or from the base. */
  async holds(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<boolean> {
    const state = await this.repository.entryState(tx, view.n, object.id);
    if (state !== undefined) return state !== 'out';
    return view.root === object.id || this.isInBase(tx, view, object);
  }

  /** Whether the object was in one of the bases at the fork, and no fork in between has removed it or left it out. */
  async isInBase(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<boolean> {
    for await (const { entryState } of this.bases(tx, view, object)) if (entryState !== undefined) return true;
    return false;
  }

  /**
   * The views that `view` was forked from, nearest first, each as of the fork. Ends where a narrowing leaves the object out
   * or where it was removed.
   */
  async *bases(tx: ReadTx, view: NumberedView, object: ObjectRecord): AsyncGenerator<BaseView> {
    let rights = inheritableRights;
    let asOf = latestSnapshot;
    for (let fork = view; fork.base !== null && isWithinNarrowing(fork.narrowing, object); ) {
      rights &= rightsInFork(fork);
      asOf = earlierOf(asOf, fork);
      const base = await this.repository.find(tx, fork.base);
      if (base === undefined) return;
      const state = await this.repository.entryState(tx, base.n, object.id, asOf.entries);
      if (state === 'out') return;
      yield { view: base, asOf, rights, entryState: state ?? (base.root === object.id ? 'root' : undefined) };
      fork = base;
    }
  }

  /** Ids of the objects in the view, in order. Does not check whether the process may use them. */
  async page(tx: ReadTx, view: NumberedView, after: ObjectId, limit: number): Promise<ViewPage> {
    const places = new Map<ObjectId, PagePlace>();
    let asOf = latestSnapshot;
    let isNarrowed = false;
    for (let current: NumberedView | undefined = view; current !== undefined; ) {
      const rows = await this.repository.entryStates(tx, current.n, { asOf: asOf.entries, after, limit });
      const place = isNarrowed ? 'behind a narrowing' : 'in';
      for (const { object, entryState } of rows) {
        recordFirst(places, object, entryState === undefined ? undefined : entryState === 'out' ? 'out' : place);
      }
      if (current.root > after) recordFirst(places, current.root, place);
      asOf = earlierOf(asOf, current);
      isNarrowed ||= current.narrowing !== null;
      current = current.base === null ? undefined : await this.repository.find(tx, current.base);
    }
    const pageIds = [...places.keys()].sort().slice(0, limit);
    const ids: ObjectId[] = [];
    for (const id of pageIds) if (await this.isIn(tx, view, id, places.get(id))) ids.push(id);
    return { ids, last: pageIds.length < limit ? undefined : pageIds.at(-1) };
  }

  /** A reclaimed object behind a narrowing is left out: whether the narrowing includes it can no longer be decided. */
  private async isIn(tx: ReadTx, view: NumberedView, id: ObjectId, place: PagePlace): Promise<boolean> {
    if (place !== 'behind a narrowing') return place === 'in';
    const object = await this.objects.find(tx, id);
    return object !== undefined && this.isInBase(tx, view, object);
  }

  /** The entry of an object in a base. For the root, which has none, one by the capability that can hand it on. */
  private async entryOf(
    tx: ReadTx,
    { view, entryState }: BaseView,
    object: ObjectRecord,
    at: number,
  ): Promise<ViewEntry | undefined> {
    if (entryState !== 'root') return entryState;
    const reading = await this.grants.findRead(tx, view.pid, object, 'grant', at);
    return reading === undefined
      ? undefined
      : { object: object.id, capability: reading.record.id, rights: viewingRights };
  }
}

/** The state of an id in the nearest view that has one; undefined where its row only says that it is as in the base. */
type PagePlace = 'in' | 'behind a narrowing' | 'out' | undefined;

/** Views are visited nearest first, and the first state counts. */
function recordFirst(places: Map<ObjectId, PagePlace>, id: ObjectId, place: PagePlace): void {
  if (places.get(id) === undefined) places.set(id, place);
}

/** The earlier of `snapshot` and the fork's own. */
function earlierOf(snapshot: Snapshot, { baseEntries, baseVersions }: NumberedView): Snapshot {
  return {
    entries: Math.min(snapshot.entries, baseEntries ?? snapshot.entries),
    versions: Math.min(snapshot.versions, baseVersions ?? snapshot.versions),
  };
}

/** The rights that a fork leaves: viewing, and writing where it has an overlay. */
function rightsInFork(view: NumberedView): number {
  const byMode = writesToOverlay(view) ? inheritableRights : viewingRights;
  const rights = view.narrowing?.rights;
  return rights === undefined ? byMode : byMode & maskOfRights(rights as Right[]);
}

function isWithinNarrowing(narrowing: ViewNarrowing | null, { id, type, tags }: ObjectRecord): boolean {
  if (narrowing?.roots !== undefined && !narrowing.roots.includes(id)) return false;
  if (narrowing?.types !== undefined && !narrowing.types.includes(type)) return false;
  return narrowing?.tags === undefined || narrowing.tags.some((tag) => tags?.includes(tag) === true);
}
