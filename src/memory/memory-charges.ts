import type { Pid } from '../base/ids.js';
import type { WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';

/** The bytes that processes have stored, by the process that stored them. */
export type StoredBytes = ReadonlyMap<Pid | 'host', number>;

/** Charges the use of memory to the budgets of a process and its ancestors. */
export interface MemoryCharges {
  /** Throws BUDGET_EXCEEDED. */
  chargeTokens(tx: WriteTx, pid: Pid, at: number, materializedTokens: number): Promise<void>;
  /** Charges bytes that the process asks to store. Throws BUDGET_EXCEEDED. */
  chargeStored(tx: WriteTx, pid: Pid, bytes: number): Promise<void>;
  /** Charges bytes that are stored whatever the budget says. */
  addStored(tx: WriteTx, pid: Pid, bytes: number): Promise<void>;
  /** Takes back the charge for bytes that are no longer stored. */
  returnStored(tx: WriteTx, bytes: StoredBytes): Promise<void>;
}
export const MemoryCharges: Token<MemoryCharges> = token('MemoryCharges');
