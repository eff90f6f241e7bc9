import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { isIPv6, type LookupFunction } from 'node:net';
import type { Hop } from './hop.js';

const headerBytesMax = 16 * 1024;

/** Sends a request on a new connection to one of these addresses. Resolves when the response headers have arrived. */
export function sendRequest(hop: Hop, addresses: readonly string[], signal: AbortSignal): Promise<IncomingMessage> {
  const { target, method, headers } = hop;
  const { url, host, port } = target;
  // As bytes: Node.js would encode the headers in the same way as a text that follows them.
  const body = hop.body === undefined ? undefined : Buffer.from(hop.body);
  const options: RequestOptions = {
    method,
    hostname: host.startsWith('[') ? host.slice(1, -1) : host,
    port,
    // Also with an empty query, which `url.search` does not tell.
    path: url.href.slice(url.origin.length),
    // Node.js sends the body of some methods without a length, so that it could be taken for another request.
    headers: body === undefined ? headers : { ...headers, 'content-length': String(body.length) },
    // A reused connection might go to another address.
    agent: false,
    lookup: pinnedLookup(addresses),
    maxHeaderSize: headerBytesMax,
    insecureHTTPParser: false,
    signal,
  };
  return new Promise((resolve, reject) => {
    const request =
      url.protocol === 'https:' ? https.request({ ...options, rejectUnauthorized: true }) : http.request(options);
    request.on('response', resolve);
    request.on('error', reject);
    // Without a response or an error before, this is the only event.
    request.on('close', () => reject(new Error('the connection was closed without an answer')));
    request.end(body);
  });
}

/** Gives the addresses that were checked, without another lookup. */
function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const records = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_host, { all }, done) => {
    const [first] = records;
    if (first === undefined) done(new Error('the name has no address'), '');
    else if (all === true) done(null, records);
    else done(null, first.address, first.family);
  };
}
