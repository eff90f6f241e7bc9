import { safeJson, safeText } from './safe-text.js';

const linesMax = 100;
const lineMax = 400;

/** JSON for a terminal: indented, escaped, and limited in length. */
export interface JsonLines {
  readonly lines: readonly string[];
  /** The number of characters of the whole JSON; given only where some of it was cut. */
  readonly fullLength?: number;
}

export function jsonLines(value: unknown): JsonLines {
  const whole = safeJson(value, 2);
  const all = whole.split('\n');
  const lines = all.slice(0, linesMax).map((line) => safeText(line, lineMax));
  const isWhole = all.length <= linesMax && lines.every((line, index) => line === all[index]);
  return isWhole ? { lines } : { lines: [...lines, ...(all.length > linesMax ? ['…'] : [])], fullLength: whole.length };
}
