import type { Pid } from '../base/ids.js';
import type { WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';

/** Charges materialized tokens to the budgets of a process and its ancestors. */
export interface TokenCharges {
  /** Throws BUDGET_EXCEEDED. */
  charge(tx: WriteTx, pid: Pid, at: number, materializedTokens: number): Promise<void>;
}
export const TokenCharges: Token<TokenCharges> = token('TokenCharges');
