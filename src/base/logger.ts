import type { JsonObject } from './json.js';
import { type Token, token } from './token.js';

/** Gets what cannot be reported to a caller. A pino instance can be used as it is. */
export interface Logger {
  /** Reports something that the kernel copes with. */
  warn(facts: JsonObject, message: string): void;
  /** Reports a failure that no caller is told. */
  error(facts: JsonObject, message: string): void;
}
export const Logger: Token<Logger> = token('Logger');

/** The kernel's own logger is told more than loggers of callers, which may print it where it is not wanted. */
export interface KernelLogger extends Logger {
  /** Gets what is in order, and good to know. */
  info?(facts: JsonObject, message: string): void;
}

export const silentLogger: Logger = { warn: () => undefined, error: () => undefined };

/** `logger`, but nothing happens when it fails: what is told to it has happened already. */
export function safeLogger(logger: Logger): Logger {
  const tell = (level: keyof Logger) => (facts: JsonObject, message: string) => {
    try {
      logger[level](facts, message);
    } catch {
      // There is nobody else to tell.
    }
  };
  return { warn: tell('warn'), error: tell('error') };
}
