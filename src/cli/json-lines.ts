import { safeJson, safeText } from './safe-text.js';

const linesMax = 100;
const lineMax = 400;

/** JSON for a terminal: on several lines, escaped, and no more than a person looks at. */
export interface JsonLines {
  readonly lines: readonly string[];
  /** How long all of it is, where some was left out. */
  readonly cutFrom?: number;
}

export function jsonLines(value: unknown): JsonLines {
  const whole = safeJson(value, 2);
  const all = whole.split('\n');
  const lines = all.slice(0, linesMax).map((line) => safeText(line, lineMax));
  const isWhole = all.length <= linesMax && lines.every((line, index) => line === all[index]);
  return isWhole ? { lines } : { lines: [...lines, ...(all.length > linesMax ? ['…'] : [])], cutFrom: whole.length };
}
