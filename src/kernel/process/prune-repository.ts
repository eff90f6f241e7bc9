import type { CapabilityId, NodeId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { ProcessRow } from './process.js';

/** Rows that belong to a process and may be left behind when its own row is gone. */
export type LeftBehind = 'capabilities' | 'views' | 'registrations' | 'approvals';

/** Those of a page that are left behind, by their row numbers, and the number after which the next page begins. */
export interface LeftBehindPage {
  readonly numbers: readonly number[];
  readonly last: number | undefined;
}

/** A capability of a parent on the namespace of an ended child, as of a page in the order of `place`. */
export interface InheritedCapability {
  readonly id: CapabilityId;
  readonly child: Pid;
  readonly isChildGone: boolean;
  readonly place: readonly [resource: string, rowNumber: number];
}

/** Removes what hangs on processes, in bounded parts. Every method works inside the caller's unit. */
export interface PruneRepository {
  /**
   * Removes up to about `limit` rows that belong to these ended processes, besides their own rows and accounts: capabilities
   * from which nothing was derived that others hold, views, journals, mailboxes, signals, logs, questions, rules on them, and
   * open approvals. Answers whether none is left of any of them.
   */
  clear(tx: WriteTx, rows: readonly ProcessRow[], limit: number): Promise<boolean>;
  /** Removes all that is kept by pid of a process without a row, so that a new process can have the pid. */
  clearPid(tx: WriteTx, pid: Pid): Promise<void>;
  /** Looks through up to `limit` rows after number `after` for those whose process has no row. */
  pageLeftBehind(tx: ReadTx, kind: LeftBehind, after: number, limit: number): Promise<LeftBehindPage>;
  /** Removes one of them with up to about `limit` rows that belong to it. Answers whether it is gone. */
  removeLeftBehind(tx: WriteTx, kind: LeftBehind, rowNumber: number, limit: number): Promise<boolean>;
  pageInherited(
    tx: ReadTx,
    after: InheritedCapability['place'],
    limit: number,
  ): Promise<readonly InheritedCapability[]>;
  /** Removes the capability unless another one was derived from it. Answers with the holder of one that was removed. */
  removeCapability(tx: WriteTx, id: CapabilityId): Promise<Pid | undefined>;
  /** The hashes of up to `limit` environments after `after`. */
  pageEnvironments(tx: ReadTx, after: string, limit: number): Promise<readonly string[]>;
  /** Removes up to `limit` nodes that ended before `endedBefore` and hold no process. Answers with their ids. */
  removeNodes(tx: WriteTx, endedBefore: number, limit: number): Promise<readonly NodeId[]>;
}
export const PruneRepository: Token<PruneRepository> = token('PruneRepository');
