/** The limit of a whole response, and of one event in a stream of events. */
const responseBytesMax = 10 * 1024 * 1024;

/** `fetch` for servers that are not trusted: an endless response fails instead of filling the memory. */
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

/** Counts from the last empty line, which ends an event: the reader buffers no more than one event. */
function limitEvents(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let tail = '';
  return limitBytes((chunk) => {
    const text = tail + Buffer.from(chunk).toString('latin1');
    const end = Math.max(...['\n\n', '\r\n\r\n', '\r\r'].map((separator) => text.lastIndexOf(separator)));
    tail = text.slice(-3);
    bytes = end < 0 ? bytes + chunk.byteLength : text.length - end;
    return bytes;
  });
}

/** Passes chunks on while `countBytes`, the bytes that the reader has to buffer with this chunk, is within the limit. */
function limitBytes(countBytes: (chunk: Uint8Array) => number): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      if (countBytes(chunk) > responseBytesMax) controller.error(new TypeError('The answer is too long.'));
      else controller.enqueue(chunk);
    },
  });
}
