import { inject, injectable } from 'inversify';
import { errorText, type InputError, invalidInput } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import type { WriteTx } from '../../base/store.js';
import { contextEnds, renderPayload } from '../rendering.js';
import { estimateTokens } from './estimate-tokens.js';
import { GptTokenizer } from './gpt-tokenizer.js';
import { TokenCounterRepository } from './token-counter-repository.js';
import { Tokenizer } from './tokenizer.js';

const estimate = 'estimate';
const nameMax = 100;

/** The tokens of a payload. */
export interface TokenCount {
  readonly tokens: number;
  /** Whether they were counted by the counter of the store, and not by an estimate in its place. */
  readonly isCounted: boolean;
}

/**
 * Counts tokens by the counter of the store: the tokenizer that its first writer had, or the estimate. A kernel that lacks
 * that tokenizer counts by the estimate, never by another tokenizer.
 */
@injectable()
export class TokenCounter {
  /** The counter of the store. */
  private kept: string = estimate;
  /** The tokenizer of that name; undefined for the estimate. */
  private tokenizer: Tokenizer | undefined;

  constructor(
    @inject(Tokenizer) private readonly own: Tokenizer,
    @inject(TokenCounterRepository) private readonly repository: TokenCounterRepository,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** The counter that this kernel counts by. */
  get name(): string {
    return this.tokenizer === undefined ? estimate : this.kept;
  }

  /** Finds the counter of the store, or makes that of this kernel its counter. Throws INVALID_INPUT. */
  async settle(tx: WriteTx): Promise<void> {
    const own = this.ownName();
    const found = await this.repository.find(tx);
    if (found === undefined) await this.repository.insert(tx, own);
    this.kept = found ?? own;
  }

  /** After `settle`: loads the tokenizer of the store; where this kernel does not have it, the logger is told. */
  async start(): Promise<void> {
    const own = this.ownName();
    if (own !== this.kept) {
      // A store that was begun with the estimate keeps to it; only who brings a tokenizer expects something else.
      if (this.kept !== estimate || !(this.own instanceof GptTokenizer)) this.warnOfOther(own);
      return;
    }
    if (own === estimate) return;
    try {
      await this.own.load();
      this.tokenizer = this.own;
    } catch (error) {
      this.warnOfFailure(error);
    }
  }

  /** The tokens of a part of a context that is no payload. */
  count(text: string): number {
    return this.attempt((count) => count(text)) ?? estimateTokens(text);
  }

  /**
   * The tokens that a payload adds to a context, wherever in it. These are the tokens of its text, but for the rare text
   * whose first or last characters form other tokens with the lines around it.
   */
  countPayload(payload: JsonValue): TokenCount {
    const text = renderPayload(payload);
    const tokens = this.attempt((count) => count(text) + countAtEnds(count, text));
    if (tokens !== undefined) return { tokens, isCounted: true };
    return { tokens: estimateTokens(text), isCounted: this.kept === estimate };
  }

  /** Undefined where the estimate is to be used. A tokenizer that fails is not used again. */
  private attempt(work: (count: Count) => number): number | undefined {
    const { tokenizer } = this;
    if (tokenizer === undefined) return undefined;
    try {
      return work((text) => wholeNumber(tokenizer.count(text)));
    } catch (error) {
      this.tokenizer = undefined;
      this.warnOfFailure(error);
      return undefined;
    }
  }

  private ownName(): string {
    if (this.own instanceof GptTokenizer) return this.own.isInstalled() ? this.own.name : estimate;
    const { name = 'custom' }: { name?: unknown } = this.own;
    if (typeof name !== 'string' || name === '' || name.length > nameMax || name === estimate) throw invalidName();
    return name;
  }

  private warnOfOther(own: string): void {
    const message =
      own === estimate && this.kept === 'o200k_base'
        ? 'the tokens of this store are counted by o200k_base, and the package gpt-tokenizer is not installed; this kernel estimates them (npm install gpt-tokenizer@4)'
        : 'the tokens of this store are counted by another tokenizer than that of this kernel, which estimates them';
    this.logger.warn({ store: this.kept, kernel: own }, message);
  }

  private warnOfFailure(error: unknown): void {
    const message = 'the tokenizer failed; from now on this kernel estimates tokens';
    this.logger.warn({ tokenizer: this.kept, error: errorText(error) }, message);
  }
}

type Count = (text: string) => number;

function wholeNumber(tokens: unknown): number {
  if (typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0) return tokens;
  throw new RangeError(`${errorText(tokens)} is no number of tokens`);
}

/** The beginnings and ends of texts that can form other tokens with the lines around them. Other texts stand alone. */
const joinsBefore = /^[\s/]/u;
const joinsAfter = /(?:\s|[^\s\p{L}\p{N}]{2})$/u;
/** The number of characters at an end that are counted with the lines around it. */
const endLength = 256;

/** The tokens that the ends of a payload have in a context beyond those that they have alone. */
function countAtEnds(count: Count, text: string): number {
  if (text === '{}') return 0;
  const joint = (a: string, b: string) => Math.max(0, count(a + b) - count(a) - count(b));
  const { before, between, last } = contextEnds;
  const [head, tail] = [text.slice(0, endLength), text.slice(-endLength)];
  const atHead = joinsBefore.test(head) ? joint(before, head) : 0;
  const atTail = joinsAfter.test(tail.slice(-4)) ? Math.max(joint(tail, between), joint(tail, last)) : 0;
  return atHead + atTail;
}

function invalidName(): InputError {
  const problem = `the name of a tokenizer is a text of 1 to ${nameMax} characters other than ${estimate}`;
  return invalidInput('Tokenizer.name', problem, 'Name it for its encoding, or leave the name out.');
}
