import { inject, injectable } from 'inversify';
import { canonicalJson, sha256Hex } from '../../base/canonical.js';
import { IdSource, type ObjectId, type Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
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

const forkedModes: Record<ForkMode, ViewMode> = {
  restricted: 'read_only',
  copy: 'copy_on_write',
  speculative: 'ephemeral',
  worker: 'read_only',
};

/** Objects and views, written inside the unit of the syscall that needs them. */
@injectable()
export class Objects {
  constructor(
    @inject(ObjectRepository) private readonly repository: ObjectRepository,
    @inject(ViewRepository) private readonly views: ViewRepository,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  newId(): ObjectId {
    return this.ids.next('object');
  }

  /** An immutable object in the private namespace of `pid`. */
  create(tx: WriteTx, pid: Pid, id: ObjectId, type: ObjectType, payload: JsonValue, at: number): Promise<void> {
    const object: NewObject = {
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
      ...newVersion(1, payload, null, pid, at),
    };
    return this.repository.insert(tx, object);
  }

  /** A mutable view of nothing but `root`. */
  freshView(tx: WriteTx, pid: Pid, root: ObjectId): Promise<number> {
    const alone = { base: null, baseEntries: null, baseVersions: null, narrowing: null, state: null };
    return this.views.insert(tx, { pid, mode: 'mutable', root, ...alone });
  }

  /** A view on another one, as it is now, or live for a worker. Writes one row, whatever the base holds. */
  async forkedView(
    tx: WriteTx,
    pid: Pid,
    root: ObjectId,
    base: number,
    mode: ForkMode,
    narrowing: ViewNarrowing | null,
  ): Promise<number> {
    const mark = mode === 'worker' ? undefined : await this.views.mark(tx);
    return this.views.insert(tx, {
      pid,
      mode: forkedModes[mode],
      root,
      base,
      baseEntries: mark?.entries ?? null,
      baseVersions: mark?.versions ?? null,
      narrowing,
      state: null,
    });
  }
}

/** A version with its hash, ready to be stored. */
export function newVersion(
  version: number,
  payload: JsonValue,
  sources: readonly Source[] | null,
  madeBy: Pid | 'host',
  madeAt: number,
): NewVersion {
  const text = canonicalJson(payload);
  return { version, hash: sha256Hex(text), payload: text, tokens: estimateTokens(text), sources, madeBy, madeAt };
}

/** About four bytes of English or JSON make a token; materialize counts them. */
function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}
