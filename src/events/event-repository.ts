import type { Pid } from '../base/ids.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import type { KernelEvent } from './event.js';

/** The part of the event log that is read: all events, those of one process, or those of processes born under one root. */
export type EventScan =
  | { readonly by: 'all' }
  | { readonly by: 'types'; readonly types: readonly string[] }
  | { readonly by: 'pid'; readonly pid: Pid }
  | { readonly by: 'bornIn'; readonly root: number };

/** Events with numbers between `above` and `below`, both excluded, in this order. */
export interface EventRange {
  readonly above: number;
  readonly below: number;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
}

/** Rows of the event log, and the paths of processes, which filters by subtree need. */
export interface EventRepository {
  /** The number of the newest event, 0 when there is none. */
  head(tx: ReadTx): Promise<number>;
  insert(tx: WriteTx, event: KernelEvent): Promise<void>;
  /** The events after `after`, oldest first. */
  page(tx: ReadTx, after: number, limit: number): Promise<KernelEvent[]>;
  /** The scan by types has no index of its own: it reads every row of the range. */
  find(tx: ReadTx, scan: EventScan, range: EventRange): Promise<KernelEvent[]>;
  /** The time of the newest event, 0 when there is none. */
  newestAt(tx: ReadTx): Promise<number>;
  /**
   * The row numbers of `pid` and the processes that it was spawned under, root first; empty when there is no such
   * process.
   */
  spawnPath(tx: ReadTx, pid: Pid): Promise<readonly number[]>;
}
export const EventRepository: Token<EventRepository> = token('EventRepository');
