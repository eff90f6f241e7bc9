import type { NodeId, Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** What a node may claim: processes of one of these images in one of these queues. */
export interface Claimable {
  readonly images: readonly string[];
  readonly queues: readonly string[];
}

export interface RunnableCount {
  readonly image: string;
  readonly queue: string;
  readonly processes: number;
  /** The number of the oldest row. */
  readonly first: number;
}

/** A part of the runnable processes, in the order of creation. */
export interface RunnablePage {
  readonly limit: number;
  /** Those after the row with this number; absent: from the oldest. */
  readonly after?: number;
  /** Those that have lost fewer starts in a row; absent: all. */
  readonly recoveriesBelow?: number;
}

/** Finds processes that nodes can claim. It only reads: a claim is an update of the row in the process table. */
export interface ClaimRepository {
  /** The oldest runnable processes. */
  findRunnable(tx: ReadTx, claimable: Claimable, page: RunnablePage): Promise<Pid[]>;
  /** The number of runnable processes of each image and queue, with the oldest row of each; up to `limit` groups. */
  countRunnable(tx: ReadTx, limit: number): Promise<RunnableCount[]>;
  /** Up to `limit` processes that wait for code, in the order of creation. */
  findParked(tx: ReadTx, claimable: Claimable, limit: number): Promise<Pid[]>;
  /** A process that `node` runs and that has lost at least `recoveries` starts in a row. */
  findSuspect(tx: ReadTx, node: NodeId, recoveries: number): Promise<Pid | undefined>;
  /** Up to `limit` commands that are runnable, or created and driven by no node, in the order of creation. */
  findUnstarted(tx: ReadTx, claimable: Claimable, limit: number): Promise<Pid[]>;
}
export const ClaimRepository: Token<ClaimRepository> = token('ClaimRepository');
