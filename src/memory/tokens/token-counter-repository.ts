import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** The name of the counter that the tokens of a store are counted by. */
export interface TokenCounterRepository {
  find(tx: ReadTx): Promise<string | undefined>;
  /** For a store that has none. */
  insert(tx: WriteTx, name: string): Promise<void>;
}
export const TokenCounterRepository: Token<TokenCounterRepository> = token('TokenCounterRepository');
