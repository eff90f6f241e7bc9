/** Control characters (C0, DEL and C1) and the bidi controls, which change the direction of text. */
export const controlCharacters = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** What a terminal, or a reader of lines, would not show as it is: control, format, bidi and line separating characters. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** The text on one line, with the characters that cannot be seen replaced by escapes such as `\n` and `\u{1b}`. */
export function escapeUnprintable(text: string): string {
  return text.replace(unprintable, (character) => {
    if (character === '\n') return '\\n';
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** The text without lone surrogates, and without characters with the code 0, which PostgreSQL does not store. */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** The beginning of a text, at most `bytesMax` bytes of UTF-8; one that is cut ends with `…`. */
export function cutToBytes(text: string, bytesMax: number): string {
  // A character of a text has one byte at least.
  const bytes = Buffer.from(text.slice(0, bytesMax + 1));
  if (text.length <= bytesMax && bytes.length <= bytesMax) return text;
  const kept = bytes.subarray(0, Math.max(0, bytesMax - Buffer.byteLength('…')));
  if (kept.length === 0) return '';
  return `${kept.subarray(0, wholeCharacters(kept)).toString()}…`;
}

/** The length of `bytes` without a UTF-8 character that is cut off at its end: at most three bytes less. */
export function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    return byte >= 0xc0 && lengthOf(byte) > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** The number of bytes at the start that belong to a UTF-8 character which begins before them. */
export function brokenCharacter(bytes: Buffer): number {
  let broken = 0;
  while (broken < Math.min(3, bytes.length) && isContinuation(bytes[broken] ?? 0)) broken++;
  return broken;
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte < 0xc0;
}

/** The length of a UTF-8 character of several bytes. */
function lengthOf(firstByte: number): number {
  if (firstByte >= 0xf0) return 4;
  return firstByte >= 0xe0 ? 3 : 2;
}

/** The text with ASCII letters in lower case, as stores compare it. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
