import { validateHeaderName, validateHeaderValue } from 'node:http';

export type Headers = Readonly<Record<string, string>>;

const headersMax = 100;
const headerBytesMax = 16 * 1024;
/** Those that speak of the connection, or that follow from what is sent. */
const connectionHeaders = new Set(
  'host connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect content-length'.split(' '),
);

/** What is wrong with the headers that a caller gave; undefined when nothing is. */
export function headersProblem(headers: Headers): string | undefined {
  const entries = Object.entries(headers);
  const names = new Set(entries.map(([name]) => name.toLowerCase()));
  if (names.size < entries.length) return 'has the same header twice';
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0);
  if (entries.length > headersMax || bytes > headerBytesMax) return 'has too many headers, or too long ones';
  for (const [name, value] of entries) {
    if (!isValid(name, value)) return `${JSON.stringify(name.slice(0, 100))} is not a header, or its value is not one`;
    if (connectionHeaders.has(name.toLowerCase())) return `${JSON.stringify(name)} is set by the connection`;
  }
  return undefined;
}

function isValid(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    // Line breaks and control characters, above all.
    return false;
  }
}

/** With names in lower case, and what every request says. */
export function requestHeaders(given: Headers, hasBody: boolean): Headers {
  const named = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    accept: '*/*',
    'accept-encoding': 'gzip, deflate, br',
    'user-agent': 'procura',
    ...(hasBody ? { 'content-type': 'text/plain;charset=UTF-8' } : {}),
    ...Object.fromEntries(named),
  };
}

export function withoutHeaders(headers: Headers, isDropped: (name: string) => boolean): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isDropped(name)));
}
