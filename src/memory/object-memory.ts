import { inject, injectable } from 'inversify';
import type { Pid } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { Page } from '../base/page.js';
import { type Token, token } from '../base/token.js';
import { parseId } from '../capability/named.js';
import type { Right } from '../capability/resource/rights.js';
import { type Caller, hostCaller } from '../unit/caller.js';
import type { JsonPatch } from './json-patch.js';
import type { Link, ObjectType, Relation } from './object/object.js';
import type { ObjectHandle, ObjectRef } from './object/object-handle.js';
import type { ObjectVersion, StoredObject } from './object/stored-object.js';
import type { ContextOrder } from './rendering.js';
import { ChangeObjects } from './syscalls/change.js';
import { ChangeView } from './syscalls/change-view.js';
import { CreateObject } from './syscalls/create.js';
import { DiffObjects, type DiffSide } from './syscalls/diff.js';
import { FindObjects, type MemoryView } from './syscalls/find.js';
import { Materialize, type MaterializedContext } from './syscalls/materialize.js';
import { MergeChild } from './syscalls/merge.js';
import { ReadObject } from './syscalls/read.js';
import { ShareObject } from './syscalls/share.js';
import { SweepObjects } from './syscalls/sweep.js';
import { UpdateObject } from './syscalls/update.js';
import type { MergePolicy, MergeResult } from './view/merge-plan.js';

export interface ObjectSpec {
  readonly type: ObjectType;
  readonly payload: JsonValue;
  /** Unique among the live objects of its namespace. */
  readonly name?: string;
  /** Default: the process's own. */
  readonly namespace?: string;
  readonly title?: string;
  readonly tags?: readonly string[];
  /** Default true. */
  readonly immutable?: boolean;
  /** What it is made from. */
  readonly sources?: readonly ObjectRef[];
}

export interface ObjectFilter {
  readonly types?: readonly ObjectType[];
  /** All of them. */
  readonly tags?: readonly string[];
  readonly name?: string;
  /** Somewhere in name, title or payload, whatever the case. */
  readonly text?: string;
  readonly namespace?: string;
  readonly createdBy?: Pid;
  readonly limit?: number;
  readonly after?: string;
}

export interface LinksOptions {
  readonly relation?: Relation;
  /** How many links away; default 1. */
  readonly depth?: number;
  /** Default `out`. */
  readonly direction?: 'out' | 'in' | 'both';
}

export interface MaterializeOptions {
  readonly tokensMax: number;
  readonly query?: string;
  readonly types?: readonly ObjectType[];
  /** What goes first; default `plan`. */
  readonly order?: ContextOrder;
}

/** Objects, as one process sees them and acts on them. An object that it may not use is NO_SUCH_OBJECT everywhere. */
export interface ProcessMemory {
  /** Throws CAPABILITY_DENIED for a namespace that it may not create in, CONFLICT for a name that is taken. */
  create(spec: ObjectSpec): Promise<ObjectHandle>;
  read(ref: ObjectRef, options?: { version?: number }): Promise<StoredObject>;
  /** Throws IMMUTABLE, VERSION_CONFLICT. */
  update(ref: ObjectRef, payload: JsonValue, options?: { ifVersion?: number }): Promise<ObjectHandle>;
  delete(ref: ObjectRef): Promise<void>;
  link(from: ObjectRef, to: ObjectRef, relation: Relation): Promise<void>;
  links(ref: ObjectRef, options?: LinksOptions): Promise<Link[]>;
  /** RFC 6902: what turns `a` into `b`. */
  diff(a: DiffSide, b: DiffSide): Promise<JsonPatch>;
  history(ref: ObjectRef): Promise<ObjectVersion[]>;
  lookup(name: string, namespace?: string): Promise<ObjectHandle>;
  query(filter?: ObjectFilter): Promise<Page<StoredObject>>;
  /** Throws AMPLIFICATION, CAPABILITY_DENIED. */
  share(to: Pid, ref: ObjectRef, rights: readonly Right[]): Promise<ObjectHandle>;
  view(): Promise<MemoryView>;
  /** What it may read is ranged over by queries, contexts and forks from now on. */
  addToView(ref: ObjectRef): Promise<void>;
  /** And no longer, also what came with a fork; authority over it stays. */
  removeFromView(ref: ObjectRef): Promise<void>;
  /** After the child has ended. Throws MERGE_CONFLICT, NOT_A_CHILD, NOT_FORKED. */
  merge(child: Pid, policy?: MergePolicy): Promise<MergeResult>;
  /** Throws BUDGET_EXCEEDED. */
  materialize(options: MaterializeOptions): Promise<MaterializedContext>;
}

/** The same for the host, which names the process that it acts for. Where a rule asks, it is APPROVAL_PENDING. */
export type ObjectMemory = {
  readonly [Name in keyof ProcessMemory]: (
    pid: Pid,
    ...args: Parameters<ProcessMemory[Name]>
  ) => ReturnType<ProcessMemory[Name]>;
} & {
  /** Gives back the room of what nobody can reach any more; the record keeps the hashes. */
  sweep(): Promise<{ reclaimed: number }>;
};
export const ObjectMemory: Token<ObjectMemory> = token('ObjectMemory');

/** Makes the memory part of process faces. */
@injectable()
export class MemoryFaces {
  constructor(
    @inject(CreateObject) private readonly creating: CreateObject,
    @inject(ReadObject) private readonly reading: ReadObject,
    @inject(UpdateObject) private readonly updating: UpdateObject,
    @inject(ChangeObjects) private readonly changing: ChangeObjects,
    @inject(ChangeView) private readonly changingView: ChangeView,
    @inject(FindObjects) private readonly finding: FindObjects,
    @inject(DiffObjects) private readonly diffing: DiffObjects,
    @inject(ShareObject) private readonly sharing: ShareObject,
    @inject(MergeChild) private readonly merging: MergeChild,
    @inject(Materialize) private readonly rendering: Materialize,
  ) {}

  /** What `pid` can do with memory, called through its own face or through the host's. */
  of(pid: Pid, caller: Caller): ProcessMemory {
    return {
      create: async (spec) => this.creating.run(caller, pid, spec),
      read: async (ref, options) => this.reading.run(caller, pid, ref, options),
      update: async (ref, payload, options) => this.updating.run(caller, pid, ref, payload, options),
      delete: async (ref) => this.changing.delete(caller, pid, ref),
      link: async (from, to, relation) => this.changing.link(caller, pid, from, to, relation),
      links: async (ref, options) => this.finding.links(caller, pid, ref, options),
      diff: async (a, b) => this.diffing.run(caller, pid, a, b),
      history: async (ref) => this.reading.history(caller, pid, ref),
      lookup: async (name, namespace) => this.finding.lookup(caller, pid, name, namespace),
      query: async (filter) => this.finding.query(caller, pid, filter),
      share: async (to, ref, rights) => this.sharing.run(caller, pid, parseId(to, 'to'), ref, rights),
      view: async () => this.finding.view(caller, pid),
      addToView: async (ref) => this.changingView.add(caller, pid, ref),
      removeFromView: async (ref) => this.changingView.remove(caller, pid, ref),
      merge: async (child, policy) => this.merging.run(caller, pid, parseId(child, 'pid'), policy),
      materialize: async (options) => this.rendering.run(caller, pid, options),
    };
  }
}

@injectable()
export class HostObjectMemory implements ObjectMemory {
  constructor(
    @inject(MemoryFaces) private readonly faces: MemoryFaces,
    @inject(SweepObjects) private readonly sweeping: SweepObjects,
  ) {}

  create = async (pid: Pid, spec: ObjectSpec) => this.of(pid).create(spec);
  read = async (pid: Pid, ref: ObjectRef, options?: { version?: number }) => this.of(pid).read(ref, options);
  update = async (pid: Pid, ref: ObjectRef, payload: JsonValue, options?: { ifVersion?: number }) =>
    this.of(pid).update(ref, payload, options);
  delete = async (pid: Pid, ref: ObjectRef) => this.of(pid).delete(ref);
  link = async (pid: Pid, from: ObjectRef, to: ObjectRef, relation: Relation) => this.of(pid).link(from, to, relation);
  links = async (pid: Pid, ref: ObjectRef, options?: LinksOptions) => this.of(pid).links(ref, options);
  diff = async (pid: Pid, a: DiffSide, b: DiffSide) => this.of(pid).diff(a, b);
  history = async (pid: Pid, ref: ObjectRef) => this.of(pid).history(ref);
  lookup = async (pid: Pid, name: string, namespace?: string) => this.of(pid).lookup(name, namespace);
  query = async (pid: Pid, filter?: ObjectFilter) => this.of(pid).query(filter);
  share = async (from: Pid, to: Pid, ref: ObjectRef, rights: readonly Right[]) => this.of(from).share(to, ref, rights);
  view = async (pid: Pid) => this.of(pid).view();
  addToView = async (pid: Pid, ref: ObjectRef) => this.of(pid).addToView(ref);
  removeFromView = async (pid: Pid, ref: ObjectRef) => this.of(pid).removeFromView(ref);
  merge = async (pid: Pid, child: Pid, policy?: MergePolicy) => this.of(pid).merge(child, policy);
  materialize = async (pid: Pid, options: MaterializeOptions) => this.of(pid).materialize(options);
  sweep = async () => this.sweeping.run();

  private of(pid: Pid): ProcessMemory {
    return this.faces.of(parseId(pid, 'pid'), hostCaller);
  }
}
