import type { CapabilityId, ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';

/** The types that an object can have. */
export const objectTypes = [
  'goal',
  'plan',
  'task',
  'step',
  'constraint',
  'message',
  'tool_result',
  'observation',
  'evidence',
  'claim',
  'summary',
  'artifact',
  'code_patch',
  'test_result',
  'error',
  'decision',
  'external_ref',
] as const;
/** The type of an object. */
export type ObjectType = (typeof objectTypes)[number];

export const relations = [
  'derived_from',
  'supports',
  'contradicts',
  'summarizes',
  'supersedes',
  'produced',
  'references',
  'part_of',
  'depends_on',
  'answers',
] as const;
/** The kind of a link between two objects. */
export type Relation = (typeof relations)[number];

export type ViewMode = 'mutable' | 'read_only' | 'copy_on_write' | 'ephemeral';
export const forkModes = ['restricted', 'copy', 'speculative', 'worker'] as const;
export type ForkMode = (typeof forkModes)[number];
/** Set when the view's process has ended and its changes have been merged into the parent. */
export type ViewState = 'merged';

/** The restriction of a fork to a part of its parent's view. */
export interface ViewNarrowing {
  readonly roots?: readonly ObjectId[];
  readonly types?: readonly ObjectType[];
  readonly tags?: readonly string[];
  readonly rights?: readonly string[];
}

/** A version of an object that another one was made from, in the main line or in a view. */
export interface Source {
  /** The id of the object. */
  readonly object: ObjectId;
  /** The version that was used. */
  readonly version: number;
  /** The number of the view whose overlay the version is from. */
  readonly view?: number;
}

/** One version of an object, in the main line or in an overlay. */
export interface Version {
  readonly version: number;
  /** SHA-256 of the payload's canonical JSON. */
  readonly hash: string;
  readonly payload: JsonValue;
  /** The tokens that the payload adds to a context. */
  readonly tokens: number;
  /** Whether they were counted by the counter of the store; else they are an estimate. */
  readonly isCounted: boolean;
  readonly sources: readonly Source[] | null;
  readonly madeBy: Pid | 'host';
  readonly madeAt: number;
}

/** One object, with its newest version in the main line. */
export interface ObjectRecord extends Version {
  readonly id: ObjectId;
  readonly type: ObjectType;
  readonly namespace: string;
  readonly name: string | null;
  readonly title: string | null;
  readonly tags: readonly string[] | null;
  readonly immutable: boolean;
  readonly createdBy: Pid | 'host';
  readonly createdAt: number;
  readonly deletedAt: number | null;
}

/** A version whose payload is canonical JSON text, ready to be stored. */
export type NewVersion = Omit<Version, 'payload'> & { readonly payload: string };

/** An object to be stored, with its first version. */
export type NewObject = Omit<ObjectRecord, 'payload'> & { readonly payload: string };

/** A version of an object in a view, and the version that the first overlay replaced. */
export interface Overlay extends Version {
  readonly object: ObjectId;
  readonly baseHash: string;
  readonly baseVersion: number;
}

/** One row of the view table. */
export interface ViewRecord {
  readonly pid: Pid;
  readonly mode: ViewMode;
  readonly root: ObjectId;
  readonly base: number | null;
  /** The last rows of the logs of entries and versions at the fork; null for a live base. */
  readonly baseEntries: number | null;
  readonly baseVersions: number | null;
  readonly narrowing: ViewNarrowing | null;
  readonly state: ViewState | null;
}

export interface NumberedView extends ViewRecord {
  readonly n: number;
}

/** Whether objects of the base are written to the view's own overlay. */
export function writesToOverlay({ mode }: ViewRecord): boolean {
  return mode === 'copy_on_write' || mode === 'ephemeral';
}

/** An object in a view. */
export interface ViewEntry {
  readonly object: ObjectId;
  /** The capability that it was added under. */
  readonly capability: CapabilityId;
  /** The rights that the capability gave then, as a mask. */
  readonly rights: number;
}

/** The state of an object in the log of a view: its entry, or `out` when it was removed. Undefined: as in the base. */
export type EntryState = ViewEntry | 'out' | undefined;

/** A state of memory, given by the last rows of its two logs. */
export interface Snapshot {
  readonly entries: number;
  readonly versions: number;
}

/** A link from one object to another. */
export interface Link {
  /** The object that the link starts from. */
  readonly source: ObjectId;
  readonly relation: Relation;
  /** The object that it leads to. */
  readonly target: ObjectId;
  /** The process that made it. */
  readonly madeBy: Pid;
  /** When it was made. */
  readonly madeAt: number;
}

/** The namespace that is private to a process. */
export function namespaceOf(pid: Pid): string {
  return `process/${pid}`;
}

/** Whether a namespace is the one that is private to `pid`, or one below it. */
export function isOwnNamespace(pid: Pid, namespace: string): boolean {
  return namespace === namespaceOf(pid) || namespace.startsWith(`${namespaceOf(pid)}/`);
}

/** The namespace of `to` that corresponds to a private namespace of `from`. */
export function correspondingNamespace(namespace: string, from: Pid, to: Pid): string {
  return namespaceOf(to) + namespace.slice(namespaceOf(from).length);
}

/** An object as a process sees it. */
export interface StoredObject<Payload = JsonValue> {
  readonly id: ObjectId;
  readonly type: ObjectType;
  /** What was written; for a `read` with a schema, the output of the schema. */
  readonly payload: Payload;
  /** Counts from 1. */
  readonly version: number;
  /** SHA-256 of the payload's canonical JSON. */
  readonly hash: string;
  readonly name?: string;
  /** The namespace of its name; by default that of its creator. */
  readonly namespace: string;
  readonly title?: string;
  readonly tags: readonly string[];
  /** Whether it can be updated. */
  readonly immutable: boolean;
  /** The process that created it. */
  readonly createdBy: Pid;
  readonly createdAt: number;
  /** The tokens that the payload adds to a context, counted when it was written. */
  readonly tokens: number;
  /** The objects that this version was made from. */
  readonly sources: readonly ObjectId[];
  /** Of a deleted object, which only the host sees. */
  readonly deletedAt?: number;
}

/** An object without its payload. */
export type ObjectInfo = Omit<StoredObject, 'payload'>;

/** One version of an object. */
export interface ObjectVersion {
  /** Counts from 1. */
  readonly version: number;
  /** The SHA-256 of the payload as canonical JSON. */
  readonly hash: string;
  /** The tokens of the payload as text for a model. */
  readonly tokens: number;
  /** The process that wrote it. */
  readonly madeBy: Pid;
  /** When it was written. */
  readonly madeAt: number;
  /** The objects that it was made from. */
  readonly sources: readonly Source[];
}

export function toStoredObject(
  object: ObjectRecord,
  { version, hash, payload, tokens, sources }: Version,
): StoredObject {
  const { id, type, name, namespace, title, tags, immutable, createdBy, createdAt } = object;
  return {
    id,
    type,
    payload,
    version,
    hash,
    ...(name === null ? {} : { name }),
    namespace,
    ...(title === null ? {} : { title }),
    tags: tags ?? [],
    immutable,
    createdBy,
    createdAt,
    tokens,
    sources: [...new Set((sources ?? []).map((source) => source.object))],
  };
}

export function toObjectVersion({ version, hash, tokens, madeBy, madeAt, sources }: Version): ObjectVersion {
  return { version, hash, tokens, madeBy, madeAt, sources: sources ?? [] };
}

const mint = Symbol('mint');

/** An object together with the authority to use it. Only the kernel makes one; JSON that looks like it is data. */
export class ObjectHandle {
  readonly #made = true;
  readonly id: ObjectId;
  /** The rights of the holder to the object. */
  readonly rights: readonly string[];
  /** The capability that carries it, or `host` for an object that belongs to the host. */
  readonly capability: CapabilityId | 'host';

  /** @internal */
  constructor(key: typeof mint, id: ObjectId, rights: readonly string[], capability: CapabilityId | 'host') {
    if (key !== mint) throw new TypeError('Only the kernel makes object handles.');
    this.id = id;
    this.rights = Object.freeze([...rights]);
    this.capability = capability;
    Object.freeze(this);
  }

  /** Id, rights and capability, for people. A handle cannot be made from it. */
  toJSON(): JsonObject {
    return { object: this.id, rights: [...this.rights], capability: this.capability };
  }

  /** Whether a value is a handle that the kernel made. */
  static is(value: unknown): value is ObjectHandle {
    return typeof value === 'object' && value !== null && #made in value;
  }

  static {
    Object.freeze(ObjectHandle.prototype);
    Object.freeze(ObjectHandle);
  }
}

export function mintHandle(id: ObjectId, rights: readonly string[], capability: CapabilityId | 'host'): ObjectHandle {
  return new ObjectHandle(mint, id, rights, capability);
}

/** An object, by its handle or by its id. */
export type ObjectRef = ObjectHandle | ObjectId;
