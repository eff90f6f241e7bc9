import { inject, injectable } from 'inversify';
import type { CapabilityId, ObjectId, Pid } from '../base/ids.js';
import type { ReadTx } from '../base/store.js';
import { CapabilityRepository } from '../capability/capability-repository.js';
import { Evaluator } from '../capability/evaluator.js';
import { Grants } from '../capability/grants.js';
import { maskOfRights, type Right } from '../capability/rights.js';
import type { MemoryMark, NumberedView, ObjectRecord, Source, Version, ViewEntry, ViewNarrowing } from './object.js';
import { ObjectRepository } from './object-repository.js';
import { ViewRepository } from './view-repository.js';

/** What a process reaches through the views that its own was forked from. */
export interface Reached {
  readonly capability: CapabilityId;
  readonly rights: number;
}

/** A version, and the view that it was written through, if any. */
export interface Seen {
  readonly version: Version;
  readonly view: number | null;
}

/** A part of what is in a view; there may be more after `last`. */
export interface ViewPage {
  readonly ids: readonly ObjectId[];
  readonly last: ObjectId | undefined;
}

const now: MemoryMark = { entries: Number.MAX_SAFE_INTEGER, versions: Number.MAX_SAFE_INTEGER };
const seeing = maskOfRights(['read', 'diff', 'materialize']);
const writing = maskOfRights(['write']);
const readMask = maskOfRights(['read']);

/** Views: what is in them, how far that goes, and which version of an object they show. */
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
      const entry = await this.entry(tx, base.view, object, base.asOf.entries, at);
      const record = entry && (await this.capabilities.find(tx, entry.capability));
      if (entry === undefined || record === undefined) continue;
      if (record.uses !== null || (record.grantable & readMask) === 0) continue;
      if ((await this.evaluator.status(tx, record, at)) !== 'live') continue;
      return { capability: record.id, rights: entry.rights & base.rights };
    }
    return undefined;
  }

  /** The version of `object` that `view` shows, or showed at a mark: its own, or what its bases showed at the fork. */
  async shown(tx: ReadTx, view: NumberedView, object: ObjectRecord, mark = now): Promise<Seen> {
    let asOf = mark;
    for await (const layer of this.layers(tx, view, object, mark)) {
      const own = await this.repository.overlay(tx, layer.view.n, object.id, layer.asOf.versions);
      if (own !== undefined) return { version: own, view: layer.view.n };
      asOf = layer.below;
    }
    return { version: await this.objects.asOf(tx, object, asOf.versions), view: null };
  }

  /** What `pid` sees of an object now, as something that another one is made from. */
  async sourceOf(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<Source> {
    const { version, view } = await this.seenBy(tx, pid, object);
    return { object: object.id, version: version.version, ...(view === null ? {} : { view }) };
  }

  /**
   * The version that `pid` sees. What the view reaches is as the view shows it; everything else, such as an object that
   * was given to the process later, is as it is in the main line.
   */
  async seenBy(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<Seen> {
    const view = await this.viewOf(tx, pid);
    return view === undefined ? { version: object, view: null } : this.shown(tx, view, object);
  }

  /** The versions that led to what `pid` sees, oldest first: those of the main line, then those of the views on the way. */
  async versionsSeenBy(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<readonly Version[]> {
    const view = await this.viewOf(tx, pid);
    if (view === undefined) return this.objects.history(tx, object);
    const written: (readonly Version[])[] = [];
    let asOf = now;
    for await (const layer of this.layers(tx, view, object, now)) {
      written.unshift(await this.repository.versions(tx, layer.view.n, object.id, layer.asOf.versions));
      asOf = layer.below;
    }
    return [await this.objects.history(tx, object, asOf.versions), ...written].flat();
  }

  /** Whether it was in one of the views that this one was forked from, at the fork, and no fork on the way has left it out. */
  async isInBase(tx: ReadTx, view: NumberedView, object: ObjectRecord, mark = now): Promise<boolean> {
    for await (const base of this.bases(tx, view, object, mark)) {
      if (base.view.root === object.id) return true;
      if ((await this.repository.entry(tx, base.view.n, object.id, base.asOf.entries)) !== undefined) return true;
    }
    return false;
  }

  /** Ids of what is in the view or in one that it was forked from, in order; whether each may be used is another question. */
  async page(tx: ReadTx, view: NumberedView, after: ObjectId, limit: number): Promise<ViewPage> {
    const found = new Set<ObjectId>();
    const own = new Set<ObjectId>();
    let asOf = now;
    let isNarrowed = false;
    for (let at: NumberedView | undefined = view; at !== undefined; ) {
      const entries = await this.repository.entries(tx, at.n, { asOf: asOf.entries, after, limit });
      for (const id of [at.root, ...entries.map(({ object }) => object)]) {
        if (id <= after) continue;
        found.add(id);
        if (!isNarrowed) own.add(id);
      }
      asOf = earlier(asOf, at);
      isNarrowed ||= at.narrowing !== null;
      at = at.base === null ? undefined : await this.repository.find(tx, at.base);
    }
    const page = [...found].sort().slice(0, limit);
    const ids: ObjectId[] = [];
    for (const id of page) if (own.has(id) || (await this.isLeftIn(tx, view, id))) ids.push(id);
    return { ids, last: page.length < limit ? undefined : page.at(-1) };
  }

  /** Whether the narrowings on the way to it have left it; what is not there any more is told by nobody. */
  private async isLeftIn(tx: ReadTx, view: NumberedView, id: ObjectId): Promise<boolean> {
    const object = await this.objects.find(tx, id);
    return object !== undefined && this.isInBase(tx, view, object);
  }

  private async viewOf(tx: ReadTx, pid: Pid): Promise<NumberedView | undefined> {
    const holder = await this.capabilities.holder(tx, pid);
    return holder && this.repository.find(tx, holder.view);
  }

  /** The entry of an object in one view. The root is one that needs no row. */
  private async entry(
    tx: ReadTx,
    view: NumberedView,
    object: ObjectRecord,
    asOf: number,
    at: number,
  ): Promise<ViewEntry | undefined> {
    if (view.root !== object.id) return this.repository.entry(tx, view.n, object.id, asOf);
    const by = await this.grants.reading(tx, view.pid, object, 'grant', at);
    return by === undefined ? undefined : { object: object.id, capability: by.record.id, rights: seeing };
  }

  /**
   * The views that `view` was forked from, nearest first, as of the fork, as long as the narrowing of no fork on the way
   * there leaves the object out; and what those forks have left of rights.
   */
  private async *bases(tx: ReadTx, view: NumberedView, object: ObjectRecord, mark = now) {
    let rights = seeing | writing;
    let asOf = mark;
    for (let fork = view; fork.base !== null; ) {
      rights &= rightsLeft(fork);
      asOf = earlier(asOf, fork);
      const at = isLeft(fork.narrowing, object) ? await this.repository.find(tx, fork.base) : undefined;
      if (at === undefined) return;
      yield { view: at, asOf, rights };
      fork = at;
    }
  }

  /**
   * The views whose versions of an object are shown by `view`, nearest first: a view has them from its base only where the
   * object was there. `below` is as of when the next one, or the main line, is looked at.
   */
  private async *layers(tx: ReadTx, view: NumberedView, object: ObjectRecord, mark: MemoryMark) {
    let asOf = mark;
    for (let at: NumberedView | undefined = view; at !== undefined && (await this.isInBase(tx, at, object, asOf)); ) {
      const below = earlier(asOf, at);
      yield { view: at, asOf, below };
      asOf = below;
      at = at.base === null ? undefined : await this.repository.find(tx, at.base);
    }
  }
}

function earlier(mark: MemoryMark, { baseEntries, baseVersions }: NumberedView): MemoryMark {
  return {
    entries: Math.min(mark.entries, baseEntries ?? mark.entries),
    versions: Math.min(mark.versions, baseVersions ?? mark.versions),
  };
}

/** What a fork leaves of rights: seeing, and writing into its own overlay where it has one. */
function rightsLeft({ mode, narrowing }: NumberedView): number {
  const kept = mode === 'copy_on_write' || mode === 'ephemeral' ? seeing | writing : seeing;
  return narrowing?.rights === undefined ? kept : kept & maskOfRights(narrowing.rights as Right[]);
}

function isLeft(narrowing: ViewNarrowing | null, { id, type, tags }: ObjectRecord): boolean {
  if (narrowing?.roots !== undefined && !narrowing.roots.includes(id)) return false;
  if (narrowing?.types !== undefined && !narrowing.types.includes(type)) return false;
  return narrowing?.tags === undefined || narrowing.tags.some((tag) => tags?.includes(tag) === true);
}
