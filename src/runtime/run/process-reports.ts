import { inject, injectable } from 'inversify';
import { Logger } from '../../base/logger.js';
import { codeOfError, messageOf } from './error-record.js';
import type { Run } from './run.js';

const callsShownMax = 10;

/** Tells the logger what becomes of processes that nobody may be waiting for. Nothing here changes anything. */
@injectable()
export class ProcessReports {
  constructor(@inject(Logger) private readonly logger: Logger) {}

  /** The process has ended because of `error`. */
  failed(run: Run, error: unknown): void {
    const { facts, text } = failureOf(run, error);
    this.logger.error(facts, `a body failed: ${text}`);
  }

  /** The body threw `error`, and its process is to be run again. */
  retried(run: Run, error: unknown): void {
    const { facts, text } = failureOf(run, error);
    this.logger.warn({ ...facts, attempt: run.row.attempt }, `a body failed and is run again: ${text}`);
  }

  /** The body has returned while calls of it were under way. What they answer is lost. */
  returnedEarly({ pid, row: { image } }: Run, calls: readonly string[]): void {
    if (calls.length === 0) return;
    const facts = { pid, image, count: calls.length, calls: calls.slice(0, callsShownMax) };
    this.logger.warn(facts, 'a body returned with calls under way: is an await missing?');
  }
}

function failureOf({ pid, row: { image } }: Run, error: unknown) {
  const code = codeOfError(error);
  return { facts: { pid, image, code }, text: `${code}: ${messageOf(error)}` };
}
