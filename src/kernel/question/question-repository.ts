import type { Pid, QuestionId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { QuestionRecord } from './question.js';

export interface StoredAnswer {
  readonly answer: JsonValue;
  readonly answeredBy: string;
  readonly answeredAt: number;
}

/** Rows of questions. Every method works inside the caller's unit. */
export interface QuestionRepository {
  find(tx: ReadTx, id: QuestionId): Promise<QuestionRecord | undefined>;
  insert(tx: WriteTx, record: QuestionRecord): Promise<void>;
  answer(tx: WriteTx, id: QuestionId, answer: StoredAnswer): Promise<void>;
  close(tx: WriteTx, id: QuestionId, at: number): Promise<void>;
  /** Of one process, by its row number, oldest first. */
  ofProcess(tx: ReadTx, process: number): Promise<readonly QuestionRecord[]>;
  /** All, or those of one process, oldest first, in pages; `open`: only those neither answered nor withdrawn. */
  list(tx: ReadTx, scan: QuestionScan): Promise<readonly QuestionRecord[]>;
}
export const QuestionRepository: Token<QuestionRepository> = token('QuestionRepository');

export interface QuestionScan {
  readonly pid?: Pid;
  readonly open: boolean;
  /** An id; empty from the beginning. */
  readonly after: string;
  readonly limit: number;
}
