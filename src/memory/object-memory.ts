import { inject, injectable } from 'inversify';
import type { Pid } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { Page } from '../base/page.js';
import type { Schema, SchemaOutput } from '../base/schema/schema-types.js';
import { parseId } from '../base/spec.js';
import { type Token, token } from '../base/token.js';
import type { Right } from '../capability/resource/rights.js';
import type { Caller, ProcessCaller } from '../unit/caller.js';
import { faceMaker, hostFaceOf, type NamedFace, type OwnFace } from '../unit/faces.js';
import type { JsonPatch } from './json-patch.js';
import type {
  Link,
  ObjectHandle,
  ObjectInfo,
  ObjectRef,
  ObjectType,
  ObjectVersion,
  Relation,
  StoredObject,
} from './object/object.js';
import type { ContextOrder } from './rendering.js';
import { ChangeObjects } from './syscalls/change.js';
import { ChangeView } from './syscalls/change-view.js';
import { CreateObject } from './syscalls/create.js';
import { DiffObjects, type DiffSide } from './syscalls/diff.js';
import { FindObjects, type MemoryView } from './syscalls/find.js';
import { InspectObjects } from './syscalls/inspect.js';
import { Materialize, type MaterializedContext } from './syscalls/materialize.js';
import { MergeChild } from './syscalls/merge.js';
import { ReadObject } from './syscalls/read.js';
import { ShareObject } from './syscalls/share.js';
import { SweepObjects } from './syscalls/sweep.js';
import { UpdateObject } from './syscalls/update.js';
import type { MergePolicy, MergeResult } from './view/merge-plan.js';

/** An object to be created. */
export interface ObjectSpec {
  readonly type: ObjectType;
  /** The content, up to `payloadBytesMax` of the kernel. */
  readonly payload: JsonValue;
  /** Unique among the live objects of its namespace. */
  readonly name?: string;
  /** Default: the process's own. */
  readonly namespace?: string;
  /** Shown in contexts for models. */
  readonly title?: string;
  readonly tags?: readonly string[];
  /** Default true. */
  readonly immutable?: boolean;
  /** Whether it is added to the view of its maker, and so to its contexts. Default true. */
  readonly inView?: boolean;
  /** The objects that it is made from. */
  readonly sources?: readonly ObjectRef[];
}

/** Selects objects of a view. Every member that is given must fit. */
export interface ObjectFilter {
  /** One of these types. */
  readonly types?: readonly ObjectType[];
  /** All of them. */
  readonly tags?: readonly string[];
  readonly name?: string;
  /** Somewhere in name, title or payload, whatever the case. */
  readonly text?: string;
  /** Objects of this namespace. */
  readonly namespace?: string;
  /** The process that created them. */
  readonly createdBy?: Pid;
  /** The largest number of items. */
  readonly limit?: number;
  /** The cursor of the page before, its `next`. */
  readonly after?: string;
}

/** Options of `read`. */
export interface ReadOptions {
  /** Default: the version that the view of the process shows. */
  readonly version?: number;
}

/** Options of `update`. */
export interface UpdateOptions {
  /** The version that it must be at. */
  readonly ifVersion?: number;
  /** Whether the version that is replaced stays in `history`; default true. */
  readonly history?: boolean;
}

/** Selects objects for the host. */
export interface ObjectListFilter {
  /** The process that created them. */
  readonly pid?: Pid;
  readonly type?: ObjectType;
  readonly name?: string;
  /** The largest number of items. */
  readonly limit?: number;
  /** The cursor of the page before, its `next`. */
  readonly after?: string;
}

/** Options of `links`. */
export interface LinksOptions {
  /** Only links of this kind. */
  readonly relation?: Relation;
  /** The largest number of links between the objects; default 1. */
  readonly depth?: number;
  /** Default `out`. */
  readonly direction?: 'out' | 'in' | 'both';
}

/** Options of `materialize`. */
export interface MaterializeOptions {
  /** The most tokens that the text may have. */
  readonly tokensMax: number;
  /** Only objects with this text in their name, title, tags or payload, whatever the case. */
  readonly query?: string;
  /** Only objects of these types. */
  readonly types?: readonly ObjectType[];
  /** The order of the objects in the text; default `plan`. */
  readonly order?: ContextOrder;
}

/** The syscalls of memory. An object that the process may not use is NO_SUCH_OBJECT everywhere. */
@injectable()
export class MemorySyscalls {
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
    @inject(Materialize) private readonly materializing: Materialize,
  ) {}

  /** Throws CAPABILITY_DENIED for a namespace that it may not create in, CONFLICT for a name that is taken. */
  create(caller: Caller, pid: Pid, spec: ObjectSpec): Promise<ObjectHandle> {
    return this.creating.run(caller, pid, spec);
  }

  /** Reads an object, or an earlier version of it. Throws NO_SUCH_OBJECT. */
  read(
    caller: Caller,
    pid: Pid,
    ref: ObjectRef,
    options?: ReadOptions & { readonly schema?: Schema },
  ): Promise<StoredObject<unknown>> {
    return this.reading.run(caller, pid, ref, options);
  }

  /**
   * Writes a new version. `history: false` does not keep the version that it replaces, which only a fork that writes to its
   * own copy does all the same. Throws IMMUTABLE, VERSION_CONFLICT.
   */
  update(caller: Caller, pid: Pid, ref: ObjectRef, payload: JsonValue, options?: UpdateOptions): Promise<ObjectHandle> {
    return this.updating.run(caller, pid, ref, payload, options);
  }

  /** Deletes an object: nobody finds or reads it any more, and the audit log keeps its hash. Throws NO_SUCH_OBJECT. */
  delete(caller: Caller, pid: Pid, ref: ObjectRef): Promise<void> {
    return this.changing.delete(caller, pid, ref);
  }

  /** Links two objects. The same link again changes nothing. Throws NO_SUCH_OBJECT. */
  link(caller: Caller, pid: Pid, from: ObjectRef, to: ObjectRef, relation: Relation): Promise<void> {
    return this.changing.link(caller, pid, from, to, relation);
  }

  /** The links from or to an object, directly or over several objects. Throws NO_SUCH_OBJECT. */
  links(caller: Caller, pid: Pid, ref: ObjectRef, options?: LinksOptions): Promise<Link[]> {
    return this.finding.links(caller, pid, ref, options);
  }

  /** RFC 6902: the patch that turns `a` into `b`. */
  diff(caller: Caller, pid: Pid, a: DiffSide, b: DiffSide): Promise<JsonPatch> {
    return this.diffing.run(caller, pid, a, b);
  }

  /** The versions of an object that are kept, up to the one that the process sees, oldest first. Throws NO_SUCH_OBJECT. */
  history(caller: Caller, pid: Pid, ref: ObjectRef): Promise<ObjectVersion[]> {
    return this.reading.history(caller, pid, ref);
  }

  /** The object with a name in a namespace; default: the process's own. Throws NO_SUCH_OBJECT. */
  lookup(caller: Caller, pid: Pid, name: string, namespace?: string): Promise<ObjectHandle> {
    return this.finding.lookup(caller, pid, name, namespace);
  }

  /** The objects in the view of the process that fit a filter, in pages. */
  query(caller: Caller, pid: Pid, filter?: ObjectFilter): Promise<Page<StoredObject>> {
    return this.finding.query(caller, pid, filter);
  }

  /** Gives `to` rights on an object. Throws AMPLIFICATION, CAPABILITY_DENIED. */
  async share(caller: Caller, pid: Pid, to: Pid, ref: ObjectRef, rights: readonly Right[]): Promise<ObjectHandle> {
    return this.sharing.run(caller, pid, parseId(to, 'to'), ref, rights);
  }

  /** The view of the process, with the objects in it that it may read. */
  view(caller: Caller, pid: Pid): Promise<MemoryView> {
    return this.finding.view(caller, pid);
  }

  /** Adds an object that it may read to its view, over which queries, contexts and forks range. */
  addToView(caller: Caller, pid: Pid, ref: ObjectRef): Promise<void> {
    return this.changingView.add(caller, pid, ref);
  }

  /** Removes an object from its view, also one that came with a fork; authority over it stays. */
  removeFromView(caller: Caller, pid: Pid, ref: ObjectRef): Promise<void> {
    return this.changingView.remove(caller, pid, ref);
  }

  /** Merges the changes of an ended child. Throws MERGE_CONFLICT, NOT_A_CHILD, NOT_FORKED. */
  async merge(caller: Caller, pid: Pid, child: Pid, policy?: MergePolicy): Promise<MergeResult> {
    return this.merging.run(caller, pid, parseId(child, 'pid'), policy);
  }

  /** Renders the view as text for a model. Throws BUDGET_EXCEEDED. */
  materialize(caller: Caller, pid: Pid, options: MaterializeOptions): Promise<MaterializedContext> {
    return this.materializing.run(caller, pid, options);
  }
}

/** Objects, as one process sees them and acts on them. */
export interface ProcessMemory extends Omit<OwnFace<MemorySyscalls>, 'read'> {
  /**
   * An object whose payload fits `schema`: its type is that of the schema's output. Throws INVALID_INPUT for one that does not
   * fit, with the object in `facts`, NO_SUCH_OBJECT.
   */
  read<const S extends Schema>(
    ref: ObjectRef,
    options: ReadOptions & { readonly schema: S },
  ): Promise<StoredObject<SchemaOutput<S>>>;
  /** Throws NO_SUCH_OBJECT. */
  read(ref: ObjectRef, options?: ReadOptions): Promise<StoredObject>;
}

/** The same for the host, which names the process that it acts for. Where a rule asks, it is APPROVAL_PENDING. */
export interface ObjectMemory extends Omit<NamedFace<MemorySyscalls>, 'read'> {
  /** As `read` of a process with a schema: the payload fits it and has its type. Throws INVALID_INPUT, NO_SUCH_OBJECT. */
  read<const S extends Schema>(
    pid: Pid,
    ref: ObjectRef,
    options: ReadOptions & { readonly schema: S },
  ): Promise<StoredObject<SchemaOutput<S>>>;
  /** Throws NO_SUCH_OBJECT. */
  read(pid: Pid, ref: ObjectRef, options?: ReadOptions): Promise<StoredObject>;
  /**
   * Any object, also of an ended process, as an act of the host that is on record. A payload that is not stored any more is
   * null. Throws NO_SUCH_OBJECT.
   */
  inspect(ref: ObjectRef): Promise<StoredObject>;
  /** Objects of all processes without their payloads, deleted ones too, in the order of their creation. */
  list(filter?: ObjectListFilter): Promise<Page<ObjectInfo>>;
  /**
   * Removes the payloads that nobody can reach any more; the record keeps the hashes. Goals, results and transcripts stay
   * until their processes are pruned.
   */
  sweep(): Promise<{ reclaimed: number }>;
}
export const ObjectMemory: Token<ObjectMemory> = token('ObjectMemory');

/** The face of memory for a process. */
export const processMemory = faceMaker<MemorySyscalls, [caller: ProcessCaller, pid: Pid], ProcessMemory>(
  MemorySyscalls,
);

/** The face of memory for the host. */
export function hostMemory(syscalls: MemorySyscalls, sweeping: SweepObjects, inspecting: InspectObjects): ObjectMemory {
  const face = hostFaceOf(syscalls, (pid) => parseId(pid, 'pid'));
  return {
    ...face,
    read: face.read as ObjectMemory['read'],
    inspect: async (ref) => inspecting.run(ref),
    list: async (filter) => inspecting.list(filter),
    sweep: async () => sweeping.run(),
  };
}
