import type { JsonObject } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** A line that a body has logged. */
export interface ProcessLogRow {
  /** The number of the process. */
  readonly process: number;
  /** Counts the lines of the process. */
  readonly seq: number;
  readonly at: number;
  readonly text: string;
  readonly facts: JsonObject | null;
}

/** The lines that bodies have logged. */
export interface ProcessLogRepository {
  /** 0 where there is none. */
  lastSeq(tx: ReadTx, process: number): Promise<number>;
  find(tx: ReadTx, process: number, seq: number): Promise<ProcessLogRow | undefined>;
  /** Those after the line `seq`, oldest first. */
  page(tx: ReadTx, process: number, seq: number, limit: number): Promise<ProcessLogRow[]>;
  insert(tx: WriteTx, row: ProcessLogRow): Promise<void>;
  remove(tx: WriteTx, process: number, seq: number): Promise<void>;
}
export const ProcessLogRepository: Token<ProcessLogRepository> = token('ProcessLogRepository');
