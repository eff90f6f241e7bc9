import type { WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';

/** Finds and drops what nobody can reach any more. Works inside the caller's unit. */
export interface ReclaimRepository {
  /** Drops the payloads of up to `limit` objects that are out of reach, and answers with how many they were. */
  reclaim(tx: WriteTx, at: number, limit: number): Promise<number>;
}
export const ReclaimRepository: Token<ReclaimRepository> = token('ReclaimRepository');
