import { inject, injectable } from 'inversify';
import { IdSource, type ObjectId, type Pid } from '../../base/ids.js';
import { canonicalJson, type JsonValue, sha256Hex } from '../../base/json.js';
import { copyPlain, copySerialized, type PlainLimits, specLimits } from '../../base/spec.js';
import type { WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import { type TokenCount, TokenCounter } from '../tokens/token-counter.js';
import { ViewRepository } from '../view/view-repository.js';
import {
  type ForkMode,
  type NewObject,
  type NewVersion,
  namespaceOf,
  type ObjectType,
  type Source,
  type ViewMode,
  type ViewNarrowing,
} from './object.js';
import { ObjectRepository } from './object-repository.js';

/** The mode of the view that a fork gets. */
const viewModes: Record<ForkMode, ViewMode> = {
  restricted: 'read_only',
  copy: 'copy_on_write',
  speculative: 'ephemeral',
  worker: 'read_only',
};

/** Writes the objects and views that the kernel creates for a process, inside the unit of the calling syscall. */
@injectable()
export class ObjectWriter {
  constructor(
    @inject(ObjectRepository) private readonly repository: ObjectRepository,
    @inject(ViewRepository) private readonly views: ViewRepository,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(TokenCounter) private readonly counter: TokenCounter,
  ) {}

  newId(): ObjectId {
    return this.ids.next('object');
  }

  /** An immutable object in the private namespace of `pid`, to be inserted. */
  prepare(pid: Pid, id: ObjectId, type: ObjectType, payload: JsonValue, at: number): NewObject {
    return {
      id,
      type,
      namespace: namespaceOf(pid),
      name: null,
      title: null,
      tags: null,
      immutable: true,
      createdBy: pid,
      createdAt: at,
      deletedAt: null,
      ...newVersion(1, payload, this.counter.countPayload(payload), null, pid, at),
    };
  }

  insert(tx: WriteTx, object: NewObject): Promise<void> {
    return this.repository.insert(tx, object);
  }

  /** Creates a mutable view that contains nothing but `root`. Returns its number. */
  createView(tx: WriteTx, pid: Pid, root: ObjectId): Promise<number> {
    const withoutBase = { base: null, baseEntries: null, baseVersions: null, narrowing: null, state: null };
    return this.views.insert(tx, { pid, mode: 'mutable', root, ...withoutBase });
  }

  /** Creates a view on `base`: on its current state, or live for a worker. Writes one row, however much the base contains. */
  async forkView(
    tx: WriteTx,
    pid: Pid,
    root: ObjectId,
    base: number,
    mode: ForkMode,
    narrowing: ViewNarrowing | null,
  ): Promise<number> {
    const snapshot = mode === 'worker' ? undefined : await this.views.currentSnapshot(tx);
    return this.views.insert(tx, {
      pid,
      mode: viewModes[mode],
      root,
      base,
      baseEntries: snapshot?.entries ?? null,
      baseVersions: snapshot?.versions ?? null,
      narrowing,
      state: null,
    });
  }
}

/** A version with its hash, its payload as canonical JSON. */
export function newVersion(
  version: number,
  payload: JsonValue,
  { tokens, isCounted }: TokenCount,
  sources: readonly Source[] | null,
  madeBy: Pid | 'host',
  madeAt: number,
): NewVersion {
  const text = canonicalJson(payload);
  return { version, hash: sha256Hex(text), payload: text, tokens, isCounted, sources, madeBy, madeAt };
}

/** The bytes of a version that count as stored by its maker. An empty object, the goal of a process without one, is free. */
export function storedBytesOf({ payload }: Pick<NewVersion, 'payload'>): number {
  return payload === '{}' ? 0 : Buffer.byteLength(payload);
}

/** The largest JSON text of a payload, in UTF-8 bytes. */
export const PayloadBytesMax: Token<number> = token('PayloadBytesMax');

const depthMax = 64;

/** Parses what callers give to be stored in an object: the payload of one that a process creates, a goal or a result. */
@injectable()
export class PayloadParser {
  private readonly limits: PlainLimits;
  /** Limits of a spec that contains a payload besides its other fields. */
  readonly specLimits: PlainLimits;

  constructor(@inject(PayloadBytesMax) bytesMax: number) {
    this.limits = { bytesMax, depthMax };
    this.specLimits = { ...specLimits, bytesMax: specLimits.bytesMax + bytesMax };
  }

  /** A copy of `value` as plain data within the limits. Throws INVALID_INPUT. */
  parse(value: unknown, path: string): JsonValue {
    return copyPlain(value, path, this.limits);
  }

  /** As `parse`, for a value of code that is not written for the kernel: objects are what their `toJSON` says. */
  parseSerialized(value: unknown, path: string): JsonValue {
    return copySerialized(value, path, this.limits);
  }
}
