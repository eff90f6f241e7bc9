import type { ObjectId } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { StoredBytes } from '../memory-charges.js';

export interface Reclaimed {
  /** The number of objects, or of objects in overlays. */
  readonly count: number;
  /** The bytes of the versions that were dropped, by the process that had stored them. */
  readonly bytes: StoredBytes;
}

/** What was reclaimed in a page of objects, and the last id of the page; undefined at the end. */
export interface ReclaimBatch extends Reclaimed {
  readonly last: ObjectId | undefined;
}

/** Drops payloads that no process can reach any more. Works inside the caller's unit. */
export interface ReclaimRepository {
  /** Examines up to `limit` objects in the order of their ids, and drops the payloads of the unreachable ones. */
  dropPayloads(tx: WriteTx, at: number, after: ObjectId, limit: number): Promise<ReclaimBatch>;
  /**
   * Drops the overlays of views that no process sees or can merge any more, and stored payloads that nothing refers to.
   */
  dropVersions(tx: WriteTx): Promise<Reclaimed>;
}
export const ReclaimRepository: Token<ReclaimRepository> = token('ReclaimRepository');
