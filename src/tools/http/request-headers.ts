import { validateHeaderName, validateHeaderValue } from 'node:http';

export type Headers = Readonly<Record<string, string>>;

const headersMax = 100;
const headerBytesMax = 16 * 1024;
/** Headers that the connection sets itself. */
const connectionHeaders = new Set(
  'host connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect content-length'.split(' '),
);

/** The problem with the headers of a caller; undefined if there is none. */
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
    // It has line breaks or control characters.
    return false;
  }
}

/** The headers as a server gets them: with lower-case names, and without the blanks around values. */
export function canonicalHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), trimBlanks(value)]));
}

function trimBlanks(value: string): string {
  const isBlank = (index: number) => value[index] === ' ' || value[index] === '\t';
  let [start, end] = [0, value.length];
  while (start < end && isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return value.slice(start, end);
}

/** Headers with lower-case names, over the defaults of every request. */
export function requestHeaders(headers: Headers, hasBody: boolean): Headers {
  return {
    accept: '*/*',
    'accept-encoding': 'gzip, deflate, br',
    'user-agent': 'procura',
    ...(hasBody ? { 'content-type': 'text/plain;charset=UTF-8' } : {}),
    ...headers,
  };
}

export function withoutHeaders(headers: Headers, isDropped: (name: string, value: string) => boolean): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name, value]) => !isDropped(name, value)));
}
