import type { JsonObject } from './json.js';
import { type Token, token } from './token.js';

/** Where the kernel reports what no caller can be told. A pino instance fits as it is. */
export interface Logger {
  warn(facts: JsonObject, message: string): void;
  error(facts: JsonObject, message: string): void;
}
export const Logger: Token<Logger> = token('Logger');

export const silentLogger: Logger = { warn: () => undefined, error: () => undefined };
