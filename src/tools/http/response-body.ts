import type { IncomingMessage } from 'node:http';
import { type Duplex, pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { type TextContent, textContent } from '../../base/text-content.js';

export interface ResponseBody extends Pick<TextContent, 'content' | 'encoding'> {
  readonly truncated: boolean;
}

/** Reads the body, decompressed, up to `bytesMax`, and no further. */
export async function readBody(response: IncomingMessage, method: string, bytesMax: number): Promise<ResponseBody> {
  const { statusCode = 0, headers } = response;
  const isEmpty = method === 'HEAD' || statusCode === 204 || statusCode === 304;
  const stream = isEmpty ? response : decompress(response, headers['content-encoding'] ?? '');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > bytesMax) break;
  }
  const bytes = Buffer.concat(chunks, Math.min(size, bytesMax));
  const hasMore = size > bytesMax;
  if (!isUtf8(headers['content-type'] ?? '')) {
    return { content: bytes.toString('base64'), encoding: 'base64', truncated: hasMore };
  }
  const { content, encoding, taken } = textContent(bytes, hasMore);
  return { content, encoding, truncated: hasMore || taken < bytes.length };
}

const decoders: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
const encodingsMax = 2;

/** A body in an unknown encoding stays as it is. */
function decompress(response: IncomingMessage, encodings: string): Readable {
  const names = encodings
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  const known = names.map((name) => decoders[name]);
  if (known.length > encodingsMax || known.some((decoder) => decoder === undefined)) return response;
  // The last encoding is removed first. An error of one stream ends the others, and is thrown where they are read.
  return known.reverse().reduce<Readable>((stream, decoder) => {
    return decoder === undefined ? stream : pipeline(stream, decoder(), () => undefined);
  }, response);
}

/** True also for a content type without a charset. */
function isUtf8(contentType: string): boolean {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType) ?? [];
  return ['utf-8', 'utf8', 'us-ascii', 'ascii'].includes(charset.toLowerCase());
}
