import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../base/clock.js';
import { MemoryError } from '../base/errors.js';
import type { ObjectId, Pid } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { parseSpec } from '../base/spec.js';
import { Store } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import { Grants } from '../capability/grants.js';
import type { ObjectType } from './object.js';
import { ObjectHandle, type ObjectRef } from './object-handle.js';
import { ObjectRepository } from './object-repository.js';

export interface StoredObject {
  readonly id: ObjectId;
  readonly type: ObjectType;
  readonly payload: JsonValue;
  readonly version: number;
  readonly hash: string;
  readonly name?: string;
  readonly namespace: string;
  readonly immutable: boolean;
  readonly createdBy: Pid;
  readonly createdAt: number;
}

/** Objects, as the process named first may see them. */
export interface ObjectMemory {
  /** Throws NO_SUCH_OBJECT, also for an object that `pid` may not read. */
  read(pid: Pid, ref: ObjectRef): Promise<StoredObject>;
}
export const ObjectMemory: Token<ObjectMemory> = token('ObjectMemory');

const id = z.string().min(1).max(512);

@injectable()
export class StoreObjectMemory implements ObjectMemory {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ObjectRepository) private readonly repository: ObjectRepository,
    @inject(Grants) private readonly grants: Grants,
  ) {}

  async read(input: Pid, ref: ObjectRef): Promise<StoredObject> {
    const pid = parseSpec(id, input, 'pid');
    const object = parseSpec(id, ObjectHandle.is(ref) ? ref.id : ref, 'ref');
    return this.store.read(async (tx) => {
      const found = await this.repository.find(tx, object);
      const by = found && (await this.grants.reading(tx, pid, found, 'read', this.clock.peek()));
      if (found === undefined || by === undefined) throw unreadable(pid, object);
      const { name, ...rest } = found;
      return { ...rest, ...(name === null ? {} : { name }) };
    });
  }
}

function unreadable(pid: Pid, object: ObjectId): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `Process ${pid} sees no object ${JSON.stringify(object)}.`, {
    facts: { pid, object },
    hint: 'Use a handle that the process got from a wait, its goal or its own namespace.',
  });
}
