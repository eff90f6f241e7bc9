import { injectable } from 'inversify';
import { type Token, token } from '../base/token.js';

/** Counts the tokens of a text as a model would. */
export interface Tokenizer {
  /** Makes it ready; called before the first count. */
  load(): Promise<void>;
  count(text: string): number;
}
export const Tokenizer: Token<Tokenizer> = token('Tokenizer');

/** The encoding of the newer GPT models. Loaded when it is first needed: its table is large. */
@injectable()
export class GptTokenizer implements Tokenizer {
  private encoded: ((text: string) => number) | undefined;

  async load(): Promise<void> {
    this.encoded ??= (await import('gpt-tokenizer/encoding/o200k_base')).countTokens;
  }

  count(text: string): number {
    return this.encoded?.(text) ?? Number.POSITIVE_INFINITY;
  }
}
