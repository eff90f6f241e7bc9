import { type NetTarget, netTarget } from './net-target.js';
import { isSecret } from './redact-url.js';
import { type Headers, withoutHeaders } from './request-headers.js';

/** One request of a chain of redirects. */
export interface Hop {
  readonly target: NetTarget;
  readonly method: string;
  /** With names in lower case. */
  readonly headers: Headers;
  readonly body?: string;
}

const redirects = new Set([301, 302, 303, 307, 308]);

/** The request that a response redirects to; undefined if it is no redirect, a text if the redirect is not followed. */
export function nextHop(hop: Hop, status: number, location: string | undefined): Hop | string | undefined {
  if (!redirects.has(status) || location === undefined) return undefined;
  const from = hop.target.url;
  const target = netTarget(location, from);
  if (typeof target === 'string') return `the redirect ${target}`;
  if (from.protocol === 'https:' && target.url.protocol === 'http:') return 'the redirect leads from https to http';
  const { body, ...rest } = withRedirectMethod(hop, status);
  // Another origin gets nothing that is hidden on record.
  const headers = target.url.origin === from.origin ? rest.headers : withoutHeaders(rest.headers, isSecret);
  return { ...rest, target, headers, ...(body === undefined ? {} : { body }) };
}

/** As browsers do, changes a POST that is answered with 301, 302 or 303 to a GET without a body. */
function withRedirectMethod(hop: Hop, status: number): Hop {
  const { method, target, headers } = hop;
  const isSeeOther = status === 303 && method !== 'GET' && method !== 'HEAD';
  const isOldPost = (status === 301 || status === 302) && method === 'POST';
  if (!isSeeOther && !isOldPost) return hop;
  return { target, method: 'GET', headers: withoutHeaders(headers, (name) => name.startsWith('content-')) };
}
