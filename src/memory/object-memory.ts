import { inject, injectable } from 'inversify';
import type { ObjectId, Pid } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { type Token, token } from '../base/token.js';
import { hostFace } from '../capability/act.js';
import type { ObjectRecord, ObjectType } from './object.js';
import type { ObjectRef } from './object-handle.js';
import { ReadObject } from './read-object.js';

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
  /** Throws NO_SUCH_OBJECT, also for an object that `pid` may not read; APPROVAL_PENDING where a rule asks. */
  read(pid: Pid, ref: ObjectRef): Promise<StoredObject>;
}
export const ObjectMemory: Token<ObjectMemory> = token('ObjectMemory');

/** Objects, as one process sees them. */
export interface ProcessMemory {
  /** Where a rule asks, it waits for the answer of a person. Throws NO_SUCH_OBJECT, APPROVAL_DENIED. */
  read(ref: ObjectRef): Promise<StoredObject>;
}

@injectable()
export class StoreObjectMemory implements ObjectMemory {
  constructor(@inject(ReadObject) private readonly reading: ReadObject) {}

  read = async (pid: Pid, ref: ObjectRef) => toStored(await this.reading.run(hostFace, pid, ref));
}

/** Makes the memory part of process faces. */
@injectable()
export class MemoryFaces {
  constructor(@inject(ReadObject) private readonly reading: ReadObject) {}

  of(pid: Pid): ProcessMemory {
    return { read: async (ref) => toStored(await this.reading.run({ face: 'process', pid }, pid, ref)) };
  }
}

function toStored({ name, ...rest }: ObjectRecord): StoredObject {
  return { ...rest, ...(name === null ? {} : { name }) };
}
