import type { ObjectId } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** What was dropped among a page of objects, and the last one of the page; none when there was no more. */
export interface Reclaimed {
  readonly count: number;
  readonly last: ObjectId | undefined;
}

/** Finds and drops what nobody can reach any more. Works inside the caller's unit. */
export interface ReclaimRepository {
  /** Looks at up to `limit` objects in the order of their ids, and drops the payloads of those that are out of reach. */
  objects(tx: WriteTx, at: number, after: ObjectId, limit: number): Promise<Reclaimed>;
  /**
   * Drops what was written through views that nobody sees or can merge any more, and stored payloads that nothing uses.
   * Answers with how many objects those views had versions of.
   */
  versions(tx: WriteTx): Promise<number>;
}
export const ReclaimRepository: Token<ReclaimRepository> = token('ReclaimRepository');
