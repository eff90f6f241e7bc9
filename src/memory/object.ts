import type { ObjectId, Pid } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';

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

export type ViewMode = 'mutable' | 'read_only' | 'copy_on_write' | 'ephemeral';
export type ForkMode = 'restricted' | 'copy' | 'speculative' | 'worker';

/** What a fork leaves of its parent's view. */
export interface ViewNarrowing {
  readonly roots?: readonly ObjectId[];
  readonly types?: readonly ObjectType[];
  readonly tags?: readonly string[];
  readonly rights?: readonly string[];
}

/** One row of the object table. */
export interface ObjectRecord {
  readonly id: ObjectId;
  readonly type: ObjectType;
  readonly namespace: string;
  readonly name: string | null;
  readonly version: number;
  /** SHA-256 of the payload's canonical JSON. */
  readonly hash: string;
  readonly payload: JsonValue;
  readonly immutable: boolean;
  readonly createdBy: Pid | 'host';
  readonly createdAt: number;
}

/** An object to be stored; its payload is canonical JSON text. */
export type NewObject = Omit<ObjectRecord, 'payload'> & { readonly payload: string };

/** One row of the view table. */
export interface ViewRecord {
  readonly pid: Pid;
  readonly mode: ViewMode;
  readonly root: ObjectId;
  readonly base: number | null;
  readonly baseSeq: number | null;
  readonly narrowing: ViewNarrowing | null;
}

/** The namespace that is private to a process. */
export function namespaceOf(pid: Pid): string {
  return `process/${pid}`;
}
