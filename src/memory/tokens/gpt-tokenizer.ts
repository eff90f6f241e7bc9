// Not by name: many bundled applications declare `createRequire` themselves, in a banner.
import nodeModule from 'node:module';
import { injectable } from 'inversify';
import type { Tokenizer } from './tokenizer.js';

const moduleName = 'gpt-tokenizer/encoding/o200k_base';

/**
 * The encoding of the newer GPT models, from the optional package gpt-tokenizer. Its table takes 70 MB of memory and more
 * than 100 ms to load, so it is loaded by the first count. Text that looks like a special token is counted as ordinary text.
 */
@injectable()
export class GptTokenizer implements Tokenizer {
  readonly name = 'o200k_base';
  private countPlain: ((text: string) => number) | undefined;

  /** Whether the package can be found from here. Loads nothing. */
  isInstalled(): boolean {
    try {
      nodeModule.createRequire(import.meta.url).resolve(moduleName);
      return true;
    } catch {
      return false;
    }
  }

  /** Does nothing: the first count loads the table. */
  load(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Exact, but for runs of over 256 characters without a space: their count is a little high. Throws when the package
   * cannot be loaded.
   */
  count(text: string): number {
    // The goal of a process that was given none: a program that spawns only such processes does not need the table.
    if (text === '{}') return 1;
    this.countPlain ??= loadCount();
    const { countPlain } = this;
    const pieces = splitLongRuns(text);
    // A split can change the count of tokens; one token per split is added as a margin.
    return pieces.reduce((sum, piece) => sum + countPlain(piece), pieces.length - 1);
  }
}

function loadCount(): (text: string) => number {
  const { countTokens } = nodeModule.createRequire(import.meta.url)(
    moduleName,
  ) as typeof import('gpt-tokenizer/encoding/o200k_base');
  const plain = { disallowedSpecial: new Set<string>() };
  return (text) => countTokens(text, plain);
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
