import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { isIPv6, type LookupFunction } from 'node:net';
import type { Hop } from './hop.js';

const headerBytesMax = 16 * 1024;

/** Sends a request on a connection of its own to one of these addresses, and answers when the headers have come. */
export function sendRequest(hop: Hop, addresses: readonly string[], signal: AbortSignal): Promise<IncomingMessage> {
  const { target, method, headers, body } = hop;
  const { url, host, port } = target;
  const options: RequestOptions = {
    method,
    hostname: host.startsWith('[') ? host.slice(1, -1) : host,
    port,
    path: `${url.pathname}${url.search}`,
    headers,
    // A connection that is kept might have been made to another address.
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
    // Also where there was no answer that could be read, and no error.
    request.on('close', () => reject(new Error('the connection was closed without an answer')));
    request.end(body);
  });
}

/** The name has been looked up: what was checked is what is connected to. */
function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_host, { all }, done) => {
    const [first] = found;
    if (first === undefined) done(new Error('the name has no address'), '');
    else if (all === true) done(null, found);
    else done(null, first.address, first.family);
  };
}
