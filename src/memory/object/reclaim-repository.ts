import type { ObjectId } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** The number of objects reclaimed in a page, and the last id of the page; undefined at the end. */
export interface ReclaimBatch {
  readonly count: number;
  readonly last: ObjectId | undefined;
}

/** Drops payloads that no process can reach any more. Works inside the caller's unit. */
export interface ReclaimRepository {
  /** Examines up to `limit` objects in the order of their ids, and drops the payloads of the unreachable ones. */
  dropPayloads(tx: WriteTx, at: number, after: ObjectId, limit: number): Promise<ReclaimBatch>;
  /**
   * Drops the overlays of views that no process sees or can merge any more, and stored payloads that nothing refers to.
   * Returns the number of objects in those overlays.
   */
  dropVersions(tx: WriteTx): Promise<number>;
}
export const ReclaimRepository: Token<ReclaimRepository> = token('ReclaimRepository');
