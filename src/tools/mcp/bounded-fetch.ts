/** How long an answer may be, and how long one event of a stream of them. */
const answerBytesMax = 10 * 1024 * 1024;

/** As fetch, for servers that nobody has to believe: an answer without an end fails instead of filling the memory. */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  return new Response(body.pipeThrough(isStream ? limitEvents() : limitWhole()), { status, statusText, headers });
}

function limitWhole(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return limitBytes((chunk) => {
    bytes += chunk.byteLength;
    return bytes;
  });
}

/** Events end with an empty line, and whoever reads keeps only what is between two of them. */
function limitEvents(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let tail = '';
  return limitBytes((chunk) => {
    const text = tail + Buffer.from(chunk).toString('latin1');
    const end = Math.max(...['\n\n', '\r\n\r\n', '\r\r'].map((mark) => text.lastIndexOf(mark)));
    tail = text.slice(-3);
    bytes = end < 0 ? bytes + chunk.byteLength : text.length - end;
    return bytes;
  });
}

/** Lets chunks through as long as what has to be kept, `kept` bytes with this chunk, is not too much. */
function limitBytes(kept: (chunk: Uint8Array) => number): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      if (kept(chunk) > answerBytesMax) controller.error(new TypeError('The answer is too long.'));
      else controller.enqueue(chunk);
    },
  });
}
