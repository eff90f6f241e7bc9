import type { ObjectId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { Link, NewObject, NewVersion, ObjectRecord, ObjectType, Relation, Version } from './object.js';

export interface LinkScan {
  readonly direction: 'out' | 'in';
  readonly relation?: Relation;
  readonly limit: number;
}

/** Null: any. */
export interface ObjectScan {
  readonly createdBy: Pid | null;
  readonly type: ObjectType | null;
  readonly name: string | null;
}

/** The content of an object that was counted, and the view whose overlay it was seen in; null for the main line. */
export interface CountedContent {
  readonly id: ObjectId;
  readonly hash: string;
  readonly view: number | null;
}

/** An object without its payload. */
export type ObjectDescription = Omit<ObjectRecord, 'payload'>;

export interface ScannedObjects {
  readonly found: readonly ObjectDescription[];
  readonly last: ObjectId | undefined;
}

/** Rows of objects, their versions and their links. Every method works inside the caller's unit. */
export interface ObjectRepository {
  /** Finds deleted objects too. */
  find(tx: ReadTx, id: ObjectId): Promise<ObjectRecord | undefined>;
  /** Reads these objects together, for a unit that will ask for one after another. */
  load(tx: WriteTx, ids: readonly ObjectId[]): Promise<void>;
  /** The live object of this name. */
  findByName(tx: ReadTx, namespace: string, name: string): Promise<ObjectId | undefined>;
  /**
   * Examines up to `limit` objects after an id, in the order of their ids, deleted ones too. Answers with those that the
   * scan selects, and with the last id that it examined; undefined at the end.
   */
  scan(tx: ReadTx, scan: ObjectScan, after: ObjectId, limit: number): Promise<ScannedObjects>;
  insert(tx: WriteTx, object: NewObject): Promise<void>;
  /** Replaces the newest version, which moves to the history. */
  update(tx: WriteTx, before: ObjectRecord, next: NewVersion): Promise<void>;
  /** Replaces the newest version, which is not kept. */
  replace(tx: WriteTx, id: ObjectId, next: NewVersion): Promise<void>;
  /** Moves the object to another namespace and sets its name. */
  move(tx: WriteTx, id: ObjectId, to: { readonly namespace: string; readonly name: string | null }): Promise<void>;
  delete(tx: WriteTx, id: ObjectId, at: number): Promise<void>;
  /** Adds the tokens to versions of an object that have this content and were not counted by the counter of the store. */
  setTokens(tx: WriteTx, counted: CountedContent, tokens: number): Promise<void>;
  /** The versions of the main line, oldest first, up to row `asOf` of its log or up to now. */
  history(tx: ReadTx, object: ObjectRecord, asOf?: number): Promise<readonly Version[]>;
  /** The version of the main line as of row `asOf` of its log. */
  findVersionAsOf(tx: ReadTx, object: ObjectRecord, asOf: number): Promise<Version>;
  /** False when the link exists already. */
  insertLink(tx: WriteTx, link: Link): Promise<boolean>;
  links(tx: ReadTx, object: ObjectId, scan: LinkScan): Promise<readonly Link[]>;
}
export const ObjectRepository: Token<ObjectRepository> = token('ObjectRepository');
