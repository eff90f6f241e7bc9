import type { JsonObject } from './json.js';
import { type Token, token } from './token.js';

/** Gets problems that cannot be reported to a caller. A pino instance can be used as it is. */
export interface Logger {
  warn(facts: JsonObject, message: string): void;
  error(facts: JsonObject, message: string): void;
}
export const Logger: Token<Logger> = token('Logger');

export const silentLogger: Logger = { warn: () => undefined, error: () => undefined };
