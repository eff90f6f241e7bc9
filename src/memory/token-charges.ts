import type { Pid } from '../base/ids.js';
import type { WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';

/** Charges what memory costs to the budget of a process and of those above it. */
export interface TokenCharges {
  /** Throws BUDGET_EXCEEDED. */
  charge(tx: WriteTx, pid: Pid, at: number, materializedTokens: number): Promise<void>;
}
export const TokenCharges: Token<TokenCharges> = token('TokenCharges');
