import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { Logger } from '../../base/logger.js';
import type { WaitFacet } from '../../kernel/process/process.js';
import { codeOfError, messageOf } from './error-record.js';
import type { Run } from './run.js';

/** A wait for a node that can run a process. */
type NodeWait = Pick<WaitFacet, 'what' | 'missing' | 'recorded' | 'asked' | 'builds'> & {
  readonly kind: 'image' | 'tools' | 'code';
};

/** The same wait is told again after this time. */
const waitRepeatMs = 60_000;
const callsShownMax = 10;

const waitTexts: Record<NodeWait['kind'], string> = {
  image: 'which no node here has',
  tools: 'some of whose tools no node here has',
  code: 'in a build that can replay its journal (NON_DETERMINISTIC)',
};

/** Tells the logger what becomes of processes that nobody may be waiting for. Nothing here changes anything. */
@injectable()
export class ProcessReports {
  /** When each wait was told last, by kind and what is waited for. */
  private readonly waitsTold = new Map<string, number>();

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

  /** `pids` wait for a node that can run them; at most once a minute for the same wait. */
  waiting(pids: readonly Pid[], { kind, what, ...details }: NodeWait): void {
    const key = `${kind} ${what}`;
    const now = performance.now();
    for (const [told, at] of this.waitsTold) if (now - at >= waitRepeatMs) this.waitsTold.delete(told);
    const [pid] = pids;
    if (pid === undefined || this.waitsTold.has(key)) return;
    this.waitsTold.set(key, now);
    const facts = { pid, processes: pids.length, ...details };
    this.logger.warn(facts, `a process waits for the image ${what}, ${waitTexts[kind]}`);
  }
}

function failureOf({ pid, row: { image } }: Run, error: unknown) {
  const code = codeOfError(error);
  return { facts: { pid, image, code }, text: `${code}: ${messageOf(error)}` };
}
