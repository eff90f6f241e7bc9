import { injectable } from 'inversify';
import { type Token, token } from '../base/token.js';

/** Counts the tokens of a text as a model would. */
export interface Tokenizer {
  /** Makes it ready; called before the first count. */
  load(): Promise<void>;
  count(text: string): number;
}
export const Tokenizer: Token<Tokenizer> = token('Tokenizer');

/**
 * The encoding of the newer GPT models. Loaded when it is first needed: its table is large. What looks like a special
 * token is text like any other.
 */
@injectable()
export class GptTokenizer implements Tokenizer {
  private encoded: ((text: string) => number) | undefined;

  async load(): Promise<void> {
    if (this.encoded !== undefined) return;
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
    const plain = { disallowedSpecial: new Set<string>() };
    this.encoded = (text) => countTokens(text, plain);
  }

  /** Exact, but for runs of over 256 characters without a space: their count is a little high. */
  count(text: string): number {
    const { encoded } = this;
    if (encoded === undefined) return Number.POSITIVE_INFINITY;
    const pieces = cut(text);
    // A cut can part what would have been fewer tokens, and in rare cases more: by one each at most, it is taken to be.
    return pieces.reduce((sum, piece) => sum + encoded(piece), pieces.length - 1);
  }
}

const longRun = /\S{257,}|\s{257,}/gu;
const inRun = /.{1,256}/gsu;

/** The time that a run without a space takes to encode grows with the square of its length: it is encoded in parts. */
function cut(text: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  for (const { 0: run, index } of text.matchAll(longRun)) {
    let end = index;
    for (const part of run.match(inRun) ?? []) {
      end += part.length;
      if (end === index + run.length) break;
      pieces.push(text.slice(start, end));
      start = end;
    }
  }
  return [...pieces, text.slice(start)];
}
