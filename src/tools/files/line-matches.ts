/** A text to find within lines. */
export interface LineQuery {
  /** Taken literally. */
  readonly pattern: string;
  readonly ignoreCase: boolean;
}

export interface LineMatch {
  /** Counts from 1. */
  readonly line: number;
  /** The line, or the part of it around what was found. */
  readonly text: string;
}

const textCharsMax = 240;

/** The lines that contain the text, at most `max` of them. */
export function matchingLines(text: string, query: LineQuery, max: number): LineMatch[] {
  const folded = (part: string) => (query.ignoreCase ? part.toLowerCase() : part);
  const wanted = folded(query.pattern);
  // Most files have no such line, and need not be taken apart.
  if (max <= 0 || !folded(text).includes(wanted)) return [];
  const found: LineMatch[] = [];
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    const at = folded(line).indexOf(wanted);
    if (at < 0) continue;
    found.push({ line: index + 1, text: around(line, at) });
    if (found.length >= max) break;
  }
  return found;
}

/** A part of a long line that begins somewhat before what was found. */
function around(line: string, at: number): string {
  if (line.length <= textCharsMax) return line;
  const from = Math.max(0, Math.min(at - textCharsMax / 4, line.length - textCharsMax));
  return line.slice(from, from + textCharsMax).toWellFormed();
}
