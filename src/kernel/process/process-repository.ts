import type { NodeId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { LiveStatus, ProcessRow } from './process.js';

/** Where a list starts from: the narrowest index that the filter allows. */
export type ProcessScan =
  | { readonly by: 'all' }
  | { readonly by: 'parent'; readonly parent: Pid }
  | { readonly by: 'root'; readonly root: Pid }
  | { readonly by: 'status'; readonly status: LiveStatus }
  | { readonly by: 'tag'; readonly space: 'label' | 'owner'; readonly key: string; readonly value: string };

/** Rows of the process table. Every method works inside the caller's unit. */
export interface ProcessRepository {
  find(tx: ReadTx, pid: Pid): Promise<ProcessRow | undefined>;
  findByNumber(tx: ReadTx, n: number): Promise<ProcessRow | undefined>;
  /** Answers with the row's number. */
  insert(tx: WriteTx, row: Omit<ProcessRow, 'n'>): Promise<number>;
  /** Writes all but birth and place; compares `version`, false when somebody else was first. */
  update(tx: WriteTx, row: ProcessRow): Promise<boolean>;
  /** Writes parent and root as well. */
  move(tx: WriteTx, row: ProcessRow): Promise<boolean>;
  /** Up to `limit` rows after number `after`, in order of birth. */
  scan(tx: ReadTx, scan: ProcessScan, after: number, limit: number): Promise<ProcessRow[]>;
  /** Of all of `parents`, in order of birth. */
  liveChildren(tx: ReadTx, parents: readonly Pid[]): Promise<{ readonly pid: Pid; readonly parent: Pid | null }[]>;
  /** The live processes at and below `pid`, parents before children. */
  liveTree(tx: ReadTx, pid: Pid): Promise<ProcessRow[]>;
  /** All processes at and below `pid`, down to `depth` levels below it, parents before children. */
  tree(tx: ReadTx, pid: Pid, depth: number): Promise<ProcessRow[]>;
  /** The parents of `pid`, nearest first. */
  ancestors(tx: ReadTx, pid: Pid): Promise<ProcessRow[]>;
  /** What `node` runs or drives, in order of birth. */
  heldBy(tx: ReadTx, node: NodeId): Promise<ProcessRow[]>;
  /** The nodes that hold something, whether they are known or not. */
  holders(tx: ReadTx): Promise<NodeId[]>;
  /** Whether `node` holds one that is running. */
  isRunningOn(tx: ReadTx, node: NodeId): Promise<boolean>;
  /** Up to `limit` that are runnable and of one of `images`, in order of birth. */
  runnable(tx: ReadTx, images: readonly string[], limit: number): Promise<Pid[]>;
  /** The same of commands: also those that are created and that no node drives. */
  unstarted(tx: ReadTx, images: readonly string[], limit: number): Promise<Pid[]>;
  /** Rows whose alarm is at or before `now`, but for commands that a node is stopping: it has the time in its own hands. */
  due(tx: ReadTx, now: number, limit: number): Promise<ProcessRow[]>;
  nextAlarm(tx: ReadTx): Promise<number | null>;
  /**
   * Ended rows with nothing left that was born under them, the newest row of the table apart, and the children of live
   * processes whose bodies may be given their results again.
   */
  prunable(tx: ReadTx, endedBefore: number, after: number, limit: number): Promise<ProcessRow[]>;
  delete(tx: WriteTx, row: ProcessRow): Promise<void>;
}
export const ProcessRepository: Token<ProcessRepository> = token('ProcessRepository');
