import type { Logger } from '../index.js';
import { safeJson, safeText } from './safe-text.js';

/** Logs to standard error: standard output is for what a command answers. */
export const logger: Logger = {
  warn: (facts, message) => report('warning', facts, message),
  error: (facts, message) => report('error', facts, message),
};

/** For a kernel beside the one that runs the processes, which gives warnings itself. */
export const errorLogger: Logger = { ...logger, warn: () => undefined };

function report(level: string, facts: object, message: string): void {
  process.stderr.write(`${level}: ${safeText(message)} ${safeText(safeJson(facts), 2_000)}\n`);
}
