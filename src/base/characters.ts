/** Control characters (C0, DEL and C1) and the bidi controls, which change the direction of text. */
export const controlCharacters = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

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
