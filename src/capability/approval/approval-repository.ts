import type { ApprovalId, CapabilityId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { ApprovalDecision, ApprovalRecord, ApprovalScope } from './approval.js';

export interface ApprovalAnswer {
  readonly decision: ApprovalDecision;
  readonly scope: ApprovalScope | null;
  readonly answeredBy: string;
  readonly answeredAt: number;
  readonly granted: CapabilityId | null;
  readonly editedArgs: JsonValue;
  readonly editedHash: string | null;
}

/** Rows of approvals. Every method works inside the caller's unit. */
export interface ApprovalRepository {
  find(tx: ReadTx, id: ApprovalId): Promise<ApprovalRecord | undefined>;
  insert(tx: WriteTx, record: ApprovalRecord): Promise<void>;
  answer(tx: WriteTx, id: ApprovalId, answer: ApprovalAnswer): Promise<void>;
  /** Marks an answer as used up, or a denial as reported. */
  use(tx: WriteTx, id: ApprovalId, at: number): Promise<void>;
  /** Of the processes with these numbers, those that are pending or whose answer is not used up, oldest first. */
  findOpen(tx: ReadTx, numbers: readonly number[]): Promise<readonly ApprovalRecord[]>;
  /** All, or those of one process, oldest first, in pages; `pending`: only those that nobody has answered. */
  list(tx: ReadTx, filter: ApprovalScan): Promise<readonly ApprovalRecord[]>;
}
export const ApprovalRepository: Token<ApprovalRepository> = token('ApprovalRepository');

export interface ApprovalScan {
  readonly pid?: Pid;
  readonly pending: boolean;
  /** An id; empty from the beginning. */
  readonly after: string;
  readonly limit: number;
}
