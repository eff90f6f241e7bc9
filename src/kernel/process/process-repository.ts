import { ProcessError } from '../../base/errors.js';
import type { NodeId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { LiveStatus, OwnerKeys, ProcessKind, ProcessRow, ProcessStatus } from './process.js';

/** The index that a list reads: the narrowest one that its filter allows, or all rows with conditions for the store. */
export type ProcessScan =
  | { readonly by: 'all' }
  | { readonly by: 'conditions'; readonly conditions: ProcessConditions }
  | { readonly by: 'pids'; readonly pids: readonly Pid[] }
  | { readonly by: 'externalRef'; readonly externalRef: string }
  | { readonly by: 'parent'; readonly parent: Pid }
  | { readonly by: 'root'; readonly root: Pid }
  | { readonly by: 'status'; readonly status: LiveStatus }
  | { readonly by: 'tag'; readonly space: 'label' | 'owner'; readonly key: string; readonly value: string };

/** What the store itself compares, so that rows that do not fit are not read. */
export interface ProcessConditions {
  readonly statuses?: readonly ProcessStatus[] | undefined;
  readonly kind?: ProcessKind | undefined;
  readonly image?: string | undefined;
  readonly name?: string | undefined;
  readonly queue?: string | undefined;
  readonly node?: string | undefined;
  readonly createdFrom?: number | undefined;
  readonly createdTo?: number | undefined;
  /** Matches the beginning of the name or of a label's value, or the end of the pid. */
  readonly text?: string | undefined;
}

/** Where a page of a scan begins. */
export interface ProcessRange {
  readonly order: 'oldest' | 'newest';
  /** The row number before the page, in its order. */
  readonly after: number | undefined;
  /** The largest number of rows. */
  readonly limit: number;
}

/** Rows of a scan; `next` is where the next page begins, absent on the last one. A page may be empty and not the last. */
export interface ProcessPage {
  readonly rows: ProcessRow[];
  readonly next?: number | undefined;
}

/** How many processes have this status and kind. */
export interface ProcessCount {
  readonly status: ProcessStatus;
  readonly kind: ProcessKind;
  readonly count: number;
}

/** When the process of a row ended; null while it lives. */
export interface NumberedEnd {
  readonly n: number;
  readonly exitedAt: number | null;
}

/** Rows of the process table. Every method works inside the caller's unit. */
export interface ProcessRepository {
  find(tx: ReadTx, pid: Pid): Promise<ProcessRow | undefined>;
  /** The rows of these processes, in their order, without those that are not there. */
  findAll(tx: ReadTx, pids: readonly Pid[]): Promise<ProcessRow[]>;
  findByNumber(tx: ReadTx, rowNumber: number): Promise<ProcessRow | undefined>;
  /** Answers with the number of the row. */
  insert(tx: WriteTx, row: Omit<ProcessRow, 'n'>): Promise<number>;
  /** Writes the row as it is to be, but for its owner. Compares `version`: false when somebody else was first. */
  update(tx: WriteTx, row: ProcessRow): Promise<boolean>;
  /** Writes the owner as well, and the tags by which it is found instead of those of the owner `before`. */
  changeOwner(tx: WriteTx, row: ProcessRow, before: OwnerKeys | null): Promise<boolean>;
  /** One page of the rows of a scan. Those found by text may have to be compared again. */
  scan(tx: ReadTx, scan: ProcessScan, range: ProcessRange): Promise<ProcessPage>;
  /**
   * Counts the rows that meet the conditions, which are not about text, among the next 10,000 after number `after`; `next` is
   * where the next part begins, absent on the last one.
   */
  count(
    tx: ReadTx,
    conditions: Omit<ProcessConditions, 'text'>,
    after: number | undefined,
  ): Promise<{ readonly counts: readonly ProcessCount[]; readonly next?: number | undefined }>;
  /** The live children of all of `parents`, those of one parent in the order of creation. */
  findLiveChildren(tx: ReadTx, parents: readonly Pid[]): Promise<ProcessRow[]>;
  /** Reads the live children of all of `parents` together, for a unit that will ask for those of one after another. */
  loadLiveChildren(tx: WriteTx, parents: readonly Pid[]): Promise<void>;
  /** The live processes at and below each of `pids`, once each, parents before children. */
  findLiveTrees(tx: ReadTx, pids: readonly Pid[]): Promise<ProcessRow[]>;
  /** Up to `limit` children of all of `parents` with numbers above `after`, in the order of creation. */
  findChildren(tx: ReadTx, parents: readonly Pid[], after: number, limit: number): Promise<ProcessRow[]>;
  /** Those of `parents` that have a child with a number above `after`. */
  findParentsOf(tx: ReadTx, parents: readonly Pid[], after: number): Promise<Pid[]>;
  /** The parents of `pid`, nearest first. */
  findAncestors(tx: ReadTx, pid: Pid): Promise<ProcessRow[]>;
  /** The place of the next process that ends among all that have ended in this store. Each is given once. */
  nextExit(tx: WriteTx): Promise<number>;
  /** The processes that `node` runs or drives, in the order of creation. */
  findByNode(tx: ReadTx, node: NodeId): Promise<ProcessRow[]>;
  /** All nodes that run or drive a process, also those that have no row. */
  findNodes(tx: ReadTx): Promise<NodeId[]>;
  /** Whether `node` has a process that is running, or a command that it is about to start. */
  isRunningOn(tx: ReadTx, node: NodeId): Promise<boolean>;
  /** Rows whose `alarmAt` is at or before `now`, without commands that a node is stopping: that node watches the time itself. */
  findDue(tx: ReadTx, now: number, limit: number): Promise<ProcessRow[]>;
  /** The earliest `alarmAt` of the rows that `findDue` would find. */
  findNextAlarm(tx: ReadTx): Promise<number | null>;
  /**
   * Of the rows with these numbers, newest first, those whose processes ended before that time and that no other row needs:
   * the parent is no live process whose body may replay a wait for it, and no effect of it is under way. Processes that were
   * spawned under it may be left.
   */
  findPrunable(tx: ReadTx, rowNumbers: readonly number[], endedBefore: number): Promise<ProcessRow[]>;
  /** When the processes of up to `limit` rows before number `before` ended, newest rows first. */
  pageEnds(tx: ReadTx, before: number, limit: number): Promise<readonly NumberedEnd[]>;
  /** Removes the rows with their tags. Their numbers are never given again. */
  delete(tx: WriteTx, rows: readonly ProcessRow[]): Promise<void>;
}
export const ProcessRepository: Token<ProcessRepository> = token('ProcessRepository');

/** Writes a changed row. Throws CONFLICT when the row was changed since it was read. */
export async function saveProcess(processes: ProcessRepository, tx: WriteTx, next: ProcessRow): Promise<void> {
  if (!(await processes.update(tx, next))) throw conflict(next);
}

/** Writes a changed row whose owner may be another one than `before`. Throws CONFLICT as saveProcess does. */
export async function saveOwner(
  processes: ProcessRepository,
  tx: WriteTx,
  next: ProcessRow,
  before: OwnerKeys | null,
): Promise<void> {
  if (!(await processes.changeOwner(tx, next, before))) throw conflict(next);
}

function conflict({ pid, version }: ProcessRow): ProcessError {
  return new ProcessError('CONFLICT', `Process ${pid} was changed by somebody else at the same time.`, {
    facts: { pid, version: version - 1 },
    hint: 'Look at it again and repeat the call if it still applies.',
    retryable: true,
  });
}
