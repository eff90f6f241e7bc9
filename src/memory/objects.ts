import { inject, injectable } from 'inversify';
import { canonicalJson, sha256Hex } from '../base/canonical.js';
import { IdSource, type ObjectId, type Pid } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { copyPlain, payloadLimits } from '../base/plain.js';
import type { WriteTx } from '../base/store.js';
import { type ForkMode, namespaceOf, type ObjectType, type ViewMode, type ViewNarrowing } from './object.js';
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
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  newId(): ObjectId {
    return this.ids.next('object');
  }

  /** An immutable object in the private namespace of `pid`. */
  create(tx: WriteTx, pid: Pid, id: ObjectId, type: ObjectType, payload: JsonValue, at: number): Promise<void> {
    const text = canonicalJson(payload);
    return this.repository.insert(tx, {
      id,
      type,
      namespace: namespaceOf(pid),
      name: null,
      version: 1,
      hash: sha256Hex(text),
      payload: text,
      immutable: true,
      createdBy: pid,
      createdAt: at,
    });
  }

  /** A mutable view of nothing but `root`. */
  freshView(tx: WriteTx, pid: Pid, root: ObjectId): Promise<number> {
    return this.repository.insertView(tx, { pid, mode: 'mutable', root, base: null, baseSeq: null, narrowing: null });
  }

  /** A view on another one, as of event `seq`, or live for a worker. Writes one row, whatever the base holds. */
  forkedView(
    tx: WriteTx,
    pid: Pid,
    root: ObjectId,
    base: { readonly view: number; readonly seq: number },
    mode: ForkMode,
    narrowing: ViewNarrowing | null,
  ): Promise<number> {
    const baseSeq = mode === 'worker' ? null : base.seq;
    return this.repository.insertView(tx, { pid, mode: forkedModes[mode], root, base: base.view, baseSeq, narrowing });
  }
}

/** `value` as the payload of an object: plain data within the limits. Throws INVALID_INPUT. */
export function toPayload(value: unknown, path: string): JsonValue {
  return copyPlain(value, path, payloadLimits);
}
