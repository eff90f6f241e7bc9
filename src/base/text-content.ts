import { wholeCharacters } from './characters.js';

/** Bytes as a part of a JSON result: text if they are UTF-8, base64 otherwise. */
export interface TextContent {
  readonly content: string;
  readonly encoding: 'utf8' | 'base64';
  /**
   * The number of bytes in `content`: less than all when the last character is cut off, or the text would be too long.
   */
  readonly taken: number;
}

// A result may be 1 MiB of JSON, where a control character takes six bytes.
const jsonBytesMax = 900 * 1024;

/** `hasMore` says that other bytes follow these, so that the last character may be cut off. */
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
