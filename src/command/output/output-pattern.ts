import { StringDecoder } from 'node:string_decoder';

/** What is looked for in output. */
export interface OutputPattern {
  readonly source: string;
  /** Where it is, in characters. */
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
  // One that remembers where it was would search from there.
  const fresh = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''));
  return {
    source: fresh.source,
    find: (text) => {
      const found = fresh.exec(text);
      return found === null ? undefined : { index: found.index, text: found[0] };
    },
  };
}

/** The first match, and the byte behind it. */
export function findPattern(
  bytes: Buffer,
  search: OutputPattern,
): { readonly text: string; readonly end: number } | undefined {
  const text = bytes.toString();
  const found = search.find(text);
  if (found === undefined) return undefined;
  return { text: found.text, end: byteLengthOf(bytes, text, found.index + found.text.length) };
}

/** How many bytes the first `characters` are. Where some of them are no text, they have to be read one by one. */
function byteLengthOf(bytes: Buffer, text: string, characters: number): number {
  if (Buffer.byteLength(text) === bytes.length) return Buffer.byteLength(text.slice(0, characters));
  const decoder = new StringDecoder('utf8');
  let read = 0;
  for (let at = 0; at < bytes.length; at++) {
    read += decoder.write(bytes.subarray(at, at + 1)).length;
    if (read >= characters) return at + 1;
  }
  return bytes.length;
}
