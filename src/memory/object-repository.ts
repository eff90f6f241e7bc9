import type { ObjectId } from '../base/ids.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import type { NewObject, ObjectRecord, ViewRecord } from './object.js';

/** Rows of objects and views. Every method works inside the caller's unit. */
export interface ObjectRepository {
  find(tx: ReadTx, id: ObjectId): Promise<ObjectRecord | undefined>;
  insert(tx: WriteTx, object: NewObject): Promise<void>;
  findView(tx: ReadTx, n: number): Promise<ViewRecord | undefined>;
  /** Answers with the number of the new view. */
  insertView(tx: WriteTx, view: ViewRecord): Promise<number>;
}
export const ObjectRepository: Token<ObjectRepository> = token('ObjectRepository');
