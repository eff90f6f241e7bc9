import type { Pid } from '../base/ids.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import type { KernelEvent } from './event.js';

/** Rows of the event log, and the paths of processes, which filters by subtree need. */
export interface EventRepository {
  /** The number of the newest event, 0 when there is none. */
  head(tx: ReadTx): Promise<number>;
  insert(tx: WriteTx, event: KernelEvent): Promise<void>;
  /** The events after `after`, oldest first. */
  page(tx: ReadTx, after: number, limit: number): Promise<KernelEvent[]>;
  /** The time of the newest event, 0 when there is none. */
  newestAt(tx: ReadTx): Promise<number>;
  /**
   * The row numbers of `pid` and the processes that it was spawned under, root first; empty when there is no such
   * process.
   */
  spawnPath(tx: ReadTx, pid: Pid): Promise<readonly number[]>;
}
export const EventRepository: Token<EventRepository> = token('EventRepository');
