import { injectable } from 'inversify';
import { type Token, token } from '../base/token.js';

/** Counts the tokens of a text as a model would. */
export interface Tokenizer {
  /** Loads the encoding; called before the first count. */
  load(): Promise<void>;
  count(text: string): number;
}
export const Tokenizer: Token<Tokenizer> = token('Tokenizer');

/**
 * The encoding of the newer GPT models, loaded on first use because its table is large. Text that looks like a special
 * token is counted as ordinary text.
 */
@injectable()
export class GptTokenizer implements Tokenizer {
  private countPlain: ((text: string) => number) | undefined;

  async load(): Promise<void> {
    if (this.countPlain !== undefined) return;
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
    const plain = { disallowedSpecial: new Set<string>() };
    this.countPlain = (text) => countTokens(text, plain);
  }

  /** Exact, but for runs of over 256 characters without a space: their count is a little high. */
  count(text: string): number {
    const { countPlain } = this;
    if (countPlain === undefined) return Number.POSITIVE_INFINITY;
    const pieces = splitLongRuns(text);
    // A split can change the count of tokens; one token per split is added as a margin.
    return pieces.reduce((sum, piece) => sum + countPlain(piece), pieces.length - 1);
  }
}

const longRun = /\S{257,}|\s{257,}/gu;
const inRun = /.{1,256}/gsu;

/** Encoding takes quadratic time in the length of a run without a space, so long runs are encoded in parts. */
function splitLongRuns(text: string): string[] {
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
