import type { ObjectId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { StoredBytes } from '../memory-charges.js';

/** An object, with the process without a row in whose own namespace it lies; null where there is none such. */
export interface ScannedObject {
  readonly id: ObjectId;
  readonly namespace: string;
  readonly orphanOf: Pid | null;
  /** The objects that its newest version was made from. */
  readonly sources: readonly ObjectId[];
}

/** Tables whose rows refer to objects. */
export const referringTables = ['object_versions', 'overlays', 'view_entries', 'views', 'processes', 'links'] as const;
export type ReferringTable = (typeof referringTables)[number];

/** A row that refers to objects, and the object that the row itself belongs to; null: it counts whatever that is. */
export interface ObjectReference {
  readonly n: number;
  readonly from: ObjectId | null;
  readonly to: readonly ObjectId[];
}

export interface RemovedObject {
  /** False when it has more versions than were to be removed at once. */
  readonly isGone: boolean;
  /** The bytes that were charged for what was removed. */
  readonly bytes: StoredBytes;
}

/** Objects in the namespaces of pruned processes. Every method works inside the caller's unit. */
export interface OrphanRepository {
  /** Up to `limit` objects after `after`, in the order of their ids. */
  pageObjects(tx: ReadTx, after: ObjectId, limit: number): Promise<readonly ScannedObject[]>;
  /** What up to `limit` rows after number `after` refer to. */
  pageReferences(tx: ReadTx, table: ReferringTable, after: number, limit: number): Promise<readonly ObjectReference[]>;
  /** Removes an object with its links, and up to `versionsMax` of its versions. */
  remove(tx: WriteTx, id: ObjectId, versionsMax: number): Promise<RemovedObject>;
}
export const OrphanRepository: Token<OrphanRepository> = token('OrphanRepository');
