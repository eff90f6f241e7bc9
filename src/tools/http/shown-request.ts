import type { JsonObject } from '../../base/json.js';
import type { Headers } from './request-headers.js';

const telling = /token|secret|passw|key|auth|cookie|session|signature|credential/i;
const hidden = '[hidden]';

/** What of a request goes on record: not what opens doors, and of the body only how long it is. */
export function shownRequest(url: string, method: string, headers: Headers, body: string | undefined): JsonObject {
  const named = Object.entries(headers).map(([name, value]) => [name, telling.test(name) ? hidden : value]);
  return {
    url: shownUrl(url),
    method,
    headers: Object.fromEntries(named),
    ...(body === undefined ? {} : { bodyBytes: Buffer.byteLength(body) }),
  };
}

function shownUrl(text: string): string {
  const url = new URL(text);
  for (const name of new Set(url.searchParams.keys())) {
    if (telling.test(name)) url.searchParams.set(name, hidden);
  }
  return url.href;
}
