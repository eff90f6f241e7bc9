import { inject, injectable } from 'inversify';
import type { CapabilityId, ObjectId, Pid } from '../base/ids.js';
import type { ReadTx } from '../base/store.js';
import { CapabilityRepository } from '../capability/capability-repository.js';
import { Evaluator } from '../capability/evaluator.js';
import { Grants } from '../capability/grants.js';
import { maskOfRights, type Right } from '../capability/rights.js';
import type { NumberedView, ObjectRecord, Source, Version, ViewEntry, ViewNarrowing } from './object.js';
import { ObjectRepository } from './object-repository.js';
import { ViewRepository } from './view-repository.js';

/** What a process reaches through the views that its own was forked from. */
export interface Reached {
  readonly capability: CapabilityId;
  readonly rights: number;
}

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
  async through(tx: ReadTx, view: NumberedView, object: ObjectRecord, now: number): Promise<Reached | undefined> {
    for await (const { at, asOf, rights, isNarrowed } of this.bases(tx, view, object)) {
      if (isNarrowed) return undefined;
      const entry = await this.entry(tx, at, object, asOf, now);
      if (entry === undefined) continue;
      const record = await this.capabilities.find(tx, entry.capability);
      if (record === undefined || record.uses !== null || (record.grantable & readMask) === 0) return undefined;
      if ((await this.evaluator.status(tx, record, now)) !== 'live') return undefined;
      return { capability: record.id, rights: entry.rights & rights };
    }
    return undefined;
  }

  /** The version of `object` that `view` shows, or showed at a mark: its own, or what its bases showed at the fork. */
  async shown(tx: ReadTx, view: NumberedView, object: ObjectRecord, mark = Number.MAX_SAFE_INTEGER): Promise<Version> {
    let asOf = mark;
    for (let at: NumberedView | undefined = view; at !== undefined; ) {
      const own = await this.repository.overlay(tx, at.n, object.id, asOf);
      if (own !== undefined) return own;
      asOf = Math.min(asOf, at.baseVersions ?? asOf);
      at = at.base === null ? undefined : await this.repository.find(tx, at.base);
    }
    return this.objects.asOf(tx, object, asOf);
  }

  /**
   * The versions that led to what `pid` sees, oldest first: in each view those up to the one that the next view was made
   * on. What others have written since is not among them.
   */
  async history(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<readonly Version[]> {
    const view = await this.viewOf(tx, pid);
    const main = await this.objects.history(tx, object);
    return view !== undefined && (await this.isInBase(tx, view, object)) ? this.line(tx, view, object, main) : main;
  }

  /** What `pid` sees of an object now, as something that another one is made from. */
  async sourceOf(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<Source> {
    const { version, view } = await this.seenBy(tx, pid, object);
    return { object: object.id, version: version.version, ...(view === null ? {} : { view }) };
  }

  /**
   * The version that `pid` sees, and the view that it was written through, if any. What the view reaches is as the view
   * shows it; everything else, such as an object that was given to the process later, is as it is in the main line.
   */
  async seenBy(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<{ version: Version; view: number | null }> {
    const view = await this.viewOf(tx, pid);
    if (view === undefined || !(await this.isInBase(tx, view, object))) return { version: object, view: null };
    const version = await this.shown(tx, view, object);
    return { version, view: 'baseHash' in version ? view.n : null };
  }

  /** Whether it was in one of the views that this one was forked from, at the fork, and no fork on the way has left it out. */
  async isInBase(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<boolean> {
    for await (const { at, asOf, isNarrowed } of this.bases(tx, view, object)) {
      if (isNarrowed) return false;
      if (at.root === object.id) return true;
      if ((await this.repository.entry(tx, at.n, object.id, asOf)) !== undefined) return true;
    }
    return false;
  }

  /** Ids of what is in the view or in one that it was forked from, in order; whether each may be used is another question. */
  async page(tx: ReadTx, view: NumberedView, after: ObjectId, limit: number): Promise<ObjectId[]> {
    const found = new Set<ObjectId>();
    let asOf: number | undefined;
    for (let at: NumberedView | undefined = view; at !== undefined; ) {
      if (at.root > after) found.add(at.root);
      for (const { object } of await this.repository.entries(tx, at.n, { asOf, after, limit })) found.add(object);
      asOf = earlier(asOf, at.baseEntries);
      at = at.base === null ? undefined : await this.repository.find(tx, at.base);
    }
    return [...found].sort().slice(0, limit);
  }

  private async line(tx: ReadTx, view: NumberedView, object: ObjectRecord, main: readonly Version[]) {
    let line: readonly Version[] = [];
    let last = Number.MAX_SAFE_INTEGER;
    let asOf = Number.MAX_SAFE_INTEGER;
    for (let at: NumberedView | undefined = view; at !== undefined; ) {
      const own = await this.repository.overlay(tx, at.n, object.id, asOf);
      if (own !== undefined) {
        line = [...upTo(own.version - 1, await this.repository.earlier(tx, at.n, object.id)), own, ...line];
        last = own.baseVersion;
      }
      asOf = Math.min(asOf, at.baseVersions ?? asOf);
      at = at.base === null ? undefined : await this.repository.find(tx, at.base);
    }
    const { version } = await this.objects.asOf(tx, object, asOf);
    return [...upTo(Math.min(last, version), main), ...line];
  }

  private async viewOf(tx: ReadTx, pid: Pid): Promise<NumberedView | undefined> {
    const holder = await this.capabilities.holder(tx, pid);
    return holder === undefined ? undefined : this.repository.find(tx, holder.view);
  }

  /** The entry of an object in one view. The root is one that needs no row. */
  private async entry(
    tx: ReadTx,
    view: NumberedView,
    object: ObjectRecord,
    asOf: number | undefined,
    now: number,
  ): Promise<ViewEntry | undefined> {
    if (view.root !== object.id) return this.repository.entry(tx, view.n, object.id, asOf);
    const by = await this.grants.reading(tx, view.pid, object, 'grant', now);
    return by === undefined ? undefined : { object: object.id, capability: by.record.id, rights: seeing };
  }

  /** The views that `view` was forked from, nearest first, and what each fork on the way there has left. */
  private async *bases(tx: ReadTx, view: NumberedView, object: ObjectRecord) {
    let rights = seeing | writing;
    let asOf: number | undefined;
    let isNarrowed = false;
    for (let fork = view; fork.base !== null; ) {
      rights &= rightsLeft(fork);
      asOf = earlier(asOf, fork.baseEntries);
      isNarrowed ||= !isLeft(fork.narrowing, object);
      const at = await this.repository.find(tx, fork.base);
      if (at === undefined) return;
      yield { at, asOf, rights, isNarrowed };
      fork = at;
    }
  }
}

function upTo(last: number, versions: readonly Version[]): readonly Version[] {
  return versions.filter(({ version }) => version <= last);
}

function earlier(one: number | undefined, other: number | null): number | undefined {
  if (other === null) return one;
  return one === undefined ? other : Math.min(one, other);
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
