import type { JsonObject } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** A group of parts of one turn, which were committed together. */
export interface AgentTurnRow {
  /** The row number of the process. */
  readonly process: number;
  /** Counts the groups of the process from 1. */
  readonly seq: number;
  /** Counts the turns of the process from 1. */
  readonly turn: number;
  readonly at: number;
  readonly parts: readonly JsonObject[];
}

/** Rows of turns. Every method works inside the caller's unit. */
export interface AgentTurnRepository {
  last(tx: ReadTx, process: number): Promise<Pick<AgentTurnRow, 'seq' | 'turn'> | undefined>;
  /** Those after `seq`, in their order. */
  page(tx: ReadTx, process: number, seq: number, limit: number): Promise<AgentTurnRow[]>;
  insert(tx: WriteTx, row: AgentTurnRow): Promise<void>;
}
export const AgentTurnRepository: Token<AgentTurnRepository> = token('AgentTurnRepository');
