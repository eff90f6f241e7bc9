import type { Hash } from '../base/json.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import type { Checkpoint } from './checkpoint/checkpoint.js';
import type { Subtree } from './merkle/merkle-tree.js';

export interface StoredRecord {
  readonly seq: number;
  readonly header: string;
  readonly hash: Hash;
  readonly body: string;
}

export interface StoredPayload {
  readonly seq: number;
  readonly salt: Buffer;
  readonly bytes: string;
}

export interface NewRecord extends StoredRecord {
  readonly subject?: string;
}

/** The part of the log that is read: all records, those of one actor, or those about one target. */
export type RecordScan =
  | { readonly by: 'all' }
  | { readonly by: 'actor'; readonly actor: string }
  | { readonly by: 'target'; readonly target: string };

/** Records with a seq between `above` and `below`, both excluded, in this order. */
export interface RecordRange {
  readonly above: number;
  readonly below: number;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
}

/** A public key; checkpoints refer to it by its `id`. */
export interface AuditKey {
  readonly id: string;
  readonly publicKey: string;
}

/** Rows of the audit log. Ranges include both ends and lists are in ascending order, where nothing else is said. */
export interface AuditRepository {
  logId(tx: ReadTx): Promise<string | undefined>;
  insertLogId(tx: WriteTx, id: string): Promise<void>;

  /** The newest record. */
  head(tx: ReadTx): Promise<{ readonly seq: number; readonly hash: Hash } | undefined>;
  find(tx: ReadTx, seq: number): Promise<StoredRecord | undefined>;
  /** Up to `limit` records with a seq above `after`, in the order of their rows. */
  recordsAfter(tx: ReadTx, after: number, limit: number): Promise<StoredRecord[]>;
  findRecords(tx: ReadTx, scan: RecordScan, range: RecordRange): Promise<StoredRecord[]>;
  /** The records whose subject is `pid`. */
  recordsAbout(tx: ReadTx, pid: string): Promise<StoredRecord[]>;
  /** The newest record that tells the status of a process. */
  newestState(tx: ReadTx, pid: string): Promise<StoredRecord | undefined>;
  /** The records that tell what became of a capability after its grant: transfers, its revocation, its last use. */
  changesOf(tx: ReadTx, capability: string): Promise<StoredRecord[]>;
  /** The subjects of records that have one, by seq. */
  subjects(tx: ReadTx, from: number, to: number): Promise<ReadonlyMap<number, string>>;
  hashes(tx: ReadTx, from: number, to: number): Promise<Hash[]>;
  insertRecords(tx: WriteTx, records: readonly NewRecord[]): Promise<void>;

  payloads(tx: ReadTx, from: number, to: number): Promise<StoredPayload[]>;
  /** The payloads of these records, of those that have one. */
  payloadsOf(tx: ReadTx, seqs: readonly number[]): Promise<StoredPayload[]>;
  newestPayload(tx: ReadTx): Promise<number | undefined>;
  insertPayloads(tx: WriteTx, payloads: readonly StoredPayload[]): Promise<void>;
  /** False when there was none. */
  deletePayload(tx: WriteTx, seq: number): Promise<boolean>;

  nodes(tx: ReadTx, level: number, from: number, to: number): Promise<Hash[]>;
  newestNode(tx: ReadTx, level: number): Promise<number | undefined>;
  insertNode(tx: WriteTx, node: Subtree, hash: Hash): Promise<void>;

  lastCheckpoint(tx: ReadTx): Promise<Checkpoint | undefined>;
  /** Up to `limit` checkpoints after the given one, by size and then by key. */
  checkpointsAfter(tx: ReadTx, after: { size: number; key: string }, limit: number): Promise<Checkpoint[]>;
  /** Changes nothing when this size is signed with this key already. */
  insertCheckpoint(tx: WriteTx, checkpoint: Checkpoint): Promise<void>;
  keys(tx: ReadTx): Promise<AuditKey[]>;
  insertKey(tx: WriteTx, key: AuditKey): Promise<void>;
}
export const AuditRepository: Token<AuditRepository> = token('AuditRepository');
