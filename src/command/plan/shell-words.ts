/** A part of a shell text. The raw texts of all parts, put together, are the text. */
export interface ShellPart {
  readonly kind: 'word' | 'blank' | 'operator';
  readonly raw: string;
  /** Of a word: without its quotes. */
  readonly value: string;
}

/** Splits a text into words as a shell does, roughly: nothing is expanded, and what is not closed ends with the text. Linear. */
export function splitShellText(text: string): ShellPart[] {
  const parts: ShellPart[] = [];
  for (let start = 0; start < text.length; ) {
    const kind = kindOf(text[start] ?? '');
    const { end, value } = kind === 'word' ? readWord(text, start) : { end: endOfRun(text, start, kind), value: '' };
    parts.push({ kind, raw: text.slice(start, end), value });
    start = end;
  }
  return parts;
}

function kindOf(character: string): ShellPart['kind'] {
  if (character === '\n' || ';|&()<>'.includes(character)) return 'operator';
  return /\s/.test(character) ? 'blank' : 'word';
}

function endOfRun(text: string, start: number, kind: ShellPart['kind']): number {
  let end = start + 1;
  while (end < text.length && kindOf(text[end] ?? '') === kind) end++;
  return end;
}

function readWord(text: string, start: number): { readonly end: number; readonly value: string } {
  let value = '';
  let quote: string | undefined;
  let end = start;
  for (; end < text.length; end++) {
    const character = text[end] ?? '';
    if (character === '\\' && quote !== "'") {
      end++;
      value += text[end] ?? '';
    } else if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else value += character;
    } else if (character === '"' || character === "'") {
      quote = character;
    } else if (kindOf(character) === 'word') {
      value += character;
    } else {
      break;
    }
  }
  return { end: Math.min(end, text.length), value };
}
