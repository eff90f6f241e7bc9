import type { CapabilityId, ObjectId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';

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
export type Relation = (typeof relations)[number];

export type ViewMode = 'mutable' | 'read_only' | 'copy_on_write' | 'ephemeral';
export const forkModes = ['restricted', 'copy', 'speculative', 'worker'] as const;
export type ForkMode = (typeof forkModes)[number];
/** A view whose process has ended, and what it wrote was brought back. */
export type ViewState = 'merged';

/** What a fork leaves of its parent's view. */
export interface ViewNarrowing {
  readonly roots?: readonly ObjectId[];
  readonly types?: readonly ObjectType[];
  readonly tags?: readonly string[];
  readonly rights?: readonly string[];
}

/** What something was made from: an object as it was at a version, in the main line or in a view. */
export interface Source {
  readonly object: ObjectId;
  readonly version: number;
  /** The number of the view, where it is a version that was written through one. */
  readonly view?: number;
}

/** One version of an object, wherever it stands. */
export interface Version {
  readonly version: number;
  /** SHA-256 of the payload's canonical JSON. */
  readonly hash: string;
  readonly payload: JsonValue;
  /** An estimate; materialize counts. */
  readonly tokens: number;
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

/** A version that a view has of an object, and what its first one was made on. */
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
  /** How far the logs of entries and versions went at the fork; null for a live base. */
  readonly baseEntries: number | null;
  readonly baseVersions: number | null;
  readonly narrowing: ViewNarrowing | null;
  readonly state: ViewState | null;
}

export interface NumberedView extends ViewRecord {
  readonly n: number;
}

/** Whether what was forked is written into the view itself. */
export function copies({ mode }: ViewRecord): boolean {
  return mode === 'copy_on_write' || mode === 'ephemeral';
}

/** An object in a view. */
export interface ViewEntry {
  readonly object: ObjectId;
  /** The capability that it was added under. */
  readonly capability: CapabilityId;
  /** What that gave then, as a mask. */
  readonly rights: number;
}

/** What the log of a view says of an object: its entry, or that it was taken out. Nothing: it is as in the base. */
export type EntryState = ViewEntry | 'out' | undefined;

/** How far the two logs of memory go: a snapshot is as of these. */
export interface Snapshot {
  readonly entries: number;
  readonly versions: number;
}

export interface Link {
  readonly source: ObjectId;
  readonly relation: Relation;
  readonly target: ObjectId;
  readonly madeBy: Pid;
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

/** Of an own namespace of `from`, the same place among those of `to`. */
export function handedNamespace(namespace: string, from: Pid, to: Pid): string {
  return namespaceOf(to) + namespace.slice(namespaceOf(from).length);
}
