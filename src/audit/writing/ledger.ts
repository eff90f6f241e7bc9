import type { WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { NewAuditEntry } from '../audit-entry.js';

/** Where syscalls put their records: in the transaction of the change that the record tells. */
export interface Ledger {
  /** Buffers one record in the unit and answers with its id; it is numbered, chained and stored with the group. */
  append(tx: WriteTx, entry: NewAuditEntry): string;
}
export const Ledger: Token<Ledger> = token('Ledger');
