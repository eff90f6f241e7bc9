import { StringDecoder } from 'node:string_decoder';

/** A text or a regular expression to find in output. */
export interface OutputPattern {
  readonly source: string;
  /** The first match; `index` counts characters. */
  find(text: string): { readonly index: number; readonly text: string } | undefined;
}

export function toOutputPattern(pattern: string | RegExp): OutputPattern {
  if (typeof pattern === 'string') {
    return {
      source: pattern,
      find: (text) => {
        const index = text.indexOf(pattern);
        return index < 0 ? undefined : { index, text: pattern };
      },
    };
  }
  // A global or sticky expression would continue from its last match.
  const stateless = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''));
  return {
    source: stateless.source,
    find: (text) => {
      const match = stateless.exec(text);
      return match === null ? undefined : { index: match.index, text: match[0] };
    },
  };
}

/** The first match; `end` is the offset in bytes after it. */
export function findPattern(
  bytes: Buffer,
  pattern: OutputPattern,
): { readonly text: string; readonly end: number } | undefined {
  const text = bytes.toString();
  const match = pattern.find(text);
  if (match === undefined) return undefined;
  return { text: match.text, end: byteLengthOf(bytes, text, match.index + match.text.length) };
}

/** The length in bytes of the first `characters` characters. Invalid UTF-8 has to be decoded byte by byte. */
function byteLengthOf(bytes: Buffer, text: string, characters: number): number {
  if (Buffer.byteLength(text) === bytes.length) return Buffer.byteLength(text.slice(0, characters));
  const decoder = new StringDecoder('utf8');
  let decoded = 0;
  for (let offset = 0; offset < bytes.length; offset++) {
    decoded += decoder.write(bytes.subarray(offset, offset + 1)).length;
    if (decoded >= characters) return offset + 1;
  }
  return bytes.length;
}
