import type { WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';

/** Finds and drops what nobody can reach any more. Works inside the caller's unit. */
export interface ReclaimRepository {
  /** Drops the payloads of up to `limit` objects that are out of reach, and answers with how many they were. */
  objects(tx: WriteTx, at: number, limit: number): Promise<number>;
  /**
   * Drops what was written through views that nobody sees or can merge any more, and stored payloads that nothing uses.
   * Answers with how many objects those views had versions of.
   */
  versions(tx: WriteTx): Promise<number>;
}
export const ReclaimRepository: Token<ReclaimRepository> = token('ReclaimRepository');
