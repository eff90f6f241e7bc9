import type { CapabilityId, ObjectId } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';

const mint = Symbol('mint');

/** An object together with the authority to use it. Only the kernel makes one; JSON that looks like it is data. */
export class ObjectHandle {
  readonly #made = true;
  readonly id: ObjectId;
  readonly rights: readonly string[];
  /** The capability that carries it, or `host` for an object that belongs to the host. */
  readonly capability: CapabilityId | 'host';

  constructor(key: typeof mint, id: ObjectId, rights: readonly string[], capability: CapabilityId | 'host') {
    if (key !== mint) throw new TypeError('Only the kernel makes object handles.');
    this.id = id;
    this.rights = Object.freeze([...rights]);
    this.capability = capability;
    Object.freeze(this);
  }

  toJSON(): JsonObject {
    return { object: this.id, rights: [...this.rights], capability: this.capability };
  }

  static is(value: unknown): value is ObjectHandle {
    return typeof value === 'object' && value !== null && #made in value;
  }
}

export function mintHandle(id: ObjectId, rights: readonly string[], capability: CapabilityId | 'host'): ObjectHandle {
  return new ObjectHandle(mint, id, rights, capability);
}

export type ObjectRef = ObjectHandle | ObjectId;
