import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ObjectRecord, ObjectType, Source, Version } from './object.js';

/** An object as a process sees it. */
export interface StoredObject {
  readonly id: ObjectId;
  readonly type: ObjectType;
  readonly payload: JsonValue;
  readonly version: number;
  /** SHA-256 of the payload's canonical JSON. */
  readonly hash: string;
  readonly name?: string;
  readonly namespace: string;
  readonly title?: string;
  readonly tags: readonly string[];
  readonly immutable: boolean;
  readonly createdBy: Pid;
  readonly createdAt: number;
  /** An estimate. */
  readonly tokens: number;
  /** The objects that this version was made from. */
  readonly sources: readonly ObjectId[];
}

/** One version of an object. */
export interface ObjectVersion {
  readonly version: number;
  readonly hash: string;
  readonly tokens: number;
  readonly madeBy: Pid;
  readonly madeAt: number;
  readonly sources: readonly Source[];
}

export function toStored(object: ObjectRecord, { version, hash, payload, tokens, sources }: Version): StoredObject {
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
