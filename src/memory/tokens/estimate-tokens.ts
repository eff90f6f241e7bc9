type Kind =
  | 'lower'
  | 'upper'
  | 'digit'
  | 'blank'
  | 'newline'
  | 'mark'
  | 'accented'
  | 'alphabet'
  | 'syllable'
  | 'sign'
  | 'rare';

/**
 * An estimate of the tokens of a text that needs no table. The text is divided into runs of characters of one kind; each
 * run counts as below, and the sum is rounded up. docs/guide.md has the same table, and how far it is from o200k_base.
 */
export function estimateTokens(text: string): number {
  let total = 0;
  let before: Kind | undefined;
  for (let start = 0; start < text.length; ) {
    const kind = kindOf(text.charCodeAt(start));
    let end = start + 1;
    while (end < text.length && kindOf(text.charCodeAt(end)) === kind) end++;
    const after = end < text.length ? kindOf(text.charCodeAt(end)) : undefined;
    total += tokensOfRun(kind, end - start, before, after);
    before = kind;
    start = end;
  }
  return Math.ceil(total);
}

function tokensOfRun(kind: Kind, length: number, before: Kind | undefined, after: Kind | undefined): number {
  switch (kind) {
    case 'lower':
      // A word is counted by its capital letter, if it has one.
      return (before === 'upper' ? 0 : 1) + Math.max(0, length - 6) / 4;
    case 'upper':
      return 1 + (length - 1) / 2;
    case 'digit':
      return Math.ceil(length / 3);
    case 'blank':
      // One space belongs to the word or mark after it, but not to a number.
      return Math.min(length, 2) - (after === 'digit' ? 0 : 1);
    case 'newline':
      return before === 'mark' ? 0.5 : 1;
    case 'mark':
      return (length + 1) / 2;
    case 'alphabet':
      return 1 + length / 4;
    case 'syllable':
      return length * 0.75;
    case 'accented':
    case 'sign':
      return length;
    case 'rare':
      return length * 2;
  }
}

const asciiKinds: readonly Kind[] = Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return 'lower';
  if (/[A-Z]/.test(character)) return 'upper';
  if (/[0-9]/.test(character)) return 'digit';
  if (/[ \t]/.test(character)) return 'blank';
  return /[\r\n]/.test(character) ? 'newline' : 'mark';
});

/** The kinds of the characters from each code unit on, up to the next. */
const otherKinds: readonly (readonly [from: number, kind: Kind])[] = [
  [0xfe00, 'sign'], // variation selectors, full-width forms
  [0xe000, 'rare'],
  [0xd800, 'sign'], // half of an emoji, or of another character outside of the first plane
  [0xac00, 'syllable'], // Hangul
  [0xa000, 'rare'],
  [0x3000, 'sign'], // Chinese and Japanese
  [0x2070, 'rare'], // mathematical and other symbols
  [0x2000, 'sign'], // dashes, quotation marks, joiners
  [0x1f00, 'alphabet'], // Greek with accents
  [0x1e00, 'accented'], // Vietnamese
  [0x1100, 'rare'],
  [0x0900, 'syllable'], // scripts of India, Thai, Georgian
  [0x0800, 'rare'],
  [0x0370, 'alphabet'], // Greek, Cyrillic, Hebrew, Arabic
  [0x0250, 'sign'],
  [0x00c0, 'accented'], // Latin letters with accents
  [0x0080, 'mark'],
];

function kindOf(code: number): Kind {
  return asciiKinds[code] ?? otherKinds.find(([from]) => code >= from)?.[1] ?? 'rare';
}
