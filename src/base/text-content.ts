import { wholeCharacters } from './characters.js';

/** Bytes as a part of a result: text where they are UTF-8, base64 where they are not. */
export interface TextContent {
  readonly content: string;
  readonly encoding: 'utf8' | 'base64';
  /** How many of the bytes it holds: fewer where the last character is not whole, or the text would be too long. */
  readonly taken: number;
}

// A result may be 1 MiB of JSON, and control characters take six bytes each there.
const jsonBytesMax = 900 * 1024;

/** `hasMore`: other bytes follow these, so that a character may be cut in two at the end. */
export function textContent(bytes: Buffer, hasMore: boolean): TextContent {
  const whole = hasMore ? bytes.subarray(0, wholeCharacters(bytes)) : bytes;
  const text = whole.length === 0 && bytes.length > 0 ? undefined : decodeUtf8(whole);
  if (text === undefined) return { content: bytes.toString('base64'), encoding: 'base64', taken: bytes.length };
  if (whole.length > jsonBytesMax / 6 && Buffer.byteLength(JSON.stringify(text)) > jsonBytesMax) {
    return textContent(whole.subarray(0, Math.ceil(whole.length / 2)), true);
  }
  return { content: text, encoding: 'utf8', taken: whole.length };
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // It is not UTF-8.
    return undefined;
  }
}
