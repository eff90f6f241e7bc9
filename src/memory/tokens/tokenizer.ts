import { type Token, token } from '../../base/token.js';

/** Counts the tokens of a text as a model would. Bind another one with a module in `options.modules`. */
export interface Tokenizer {
  /**
   * Kept with a new store, whose tokens are counted by the tokenizer of this name from then on. Default `custom`;
   * `estimate` is reserved.
   */
  readonly name?: string;
  /** Prepares for counting. Called once, when a kernel opens a store whose tokens this tokenizer counts. */
  load(): Promise<void>;
  /** The number of tokens of a text. Called inside of transactions: it must not block. */
  count(text: string): number;
}
export const Tokenizer: Token<Tokenizer> = token('Tokenizer');
