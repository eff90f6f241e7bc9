import type { ObjectId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { Link, NewObject, NewVersion, ObjectRecord, Relation, Version } from './object.js';

export interface LinkScan {
  readonly direction: 'out' | 'in';
  readonly relation?: Relation;
  readonly limit: number;
}

/** Rows of objects, their versions and their links. Every method works inside the caller's unit. */
export interface ObjectRepository {
  /** Also one that was deleted. */
  find(tx: ReadTx, id: ObjectId): Promise<ObjectRecord | undefined>;
  /** The live one of this name. */
  named(tx: ReadTx, namespace: string, name: string): Promise<ObjectId | undefined>;
  insert(tx: WriteTx, object: NewObject): Promise<void>;
  /** Puts a new version in the place of the newest one, which goes to the history. */
  update(tx: WriteTx, before: ObjectRecord, next: NewVersion): Promise<void>;
  /** Moves it to another namespace, with or without its name. */
  move(tx: WriteTx, id: ObjectId, to: { readonly namespace: string; readonly name: string | null }): Promise<void>;
  delete(tx: WriteTx, id: ObjectId, at: number): Promise<void>;
  /** All versions of the main line, oldest first, until its log had gone as far as `mark` or until now. */
  history(tx: ReadTx, object: ObjectRecord, mark?: number): Promise<readonly Version[]>;
  /** What the main line showed when its log had gone as far as `mark`. */
  asOf(tx: ReadTx, object: ObjectRecord, mark: number): Promise<Version>;
  /** False when it was there already. */
  insertLink(tx: WriteTx, link: Link): Promise<boolean>;
  links(tx: ReadTx, object: ObjectId, scan: LinkScan): Promise<readonly Link[]>;
}
export const ObjectRepository: Token<ObjectRepository> = token('ObjectRepository');
