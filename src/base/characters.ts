/** How many of the first bytes end at the end of a character, at most three less than there are. */
export function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    return byte >= 0xc0 && lengthOf(byte) > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** How many of the first bytes belong to a character that begins before them. */
export function brokenCharacter(bytes: Buffer): number {
  let broken = 0;
  while (broken < Math.min(3, bytes.length) && isContinuation(bytes[broken] ?? 0)) broken++;
  return broken;
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte < 0xc0;
}

/** Of a character by its first byte. */
function lengthOf(byte: number): number {
  if (byte >= 0xf0) return 4;
  return byte >= 0xe0 ? 3 : 2;
}
