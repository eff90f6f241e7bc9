import { canonicalHost } from '../../capability/resource/net-host.js';

/** The destination of a request. */
export interface NetTarget {
  /** With the host in its canonical spelling, and without a fragment. */
  readonly url: URL;
  readonly host: string;
  readonly port: number;
  /** The resource that the right `call` is needed on. */
  readonly resource: string;
}

const urlCharsMax = 8_192;
const ports: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** Parses a URL, relative to `base` if that is given. Gives a text that says what is wrong with it. */
export function netTarget(text: string, base?: URL): NetTarget | string {
  if (text.length > urlCharsMax) return `is longer than ${urlCharsMax} characters`;
  if (!URL.canParse(text, base?.href)) return 'is not a URL';
  const url = new URL(text, base);
  const port = url.port || ports[url.protocol];
  if (port === undefined || ports[url.protocol] === undefined) return 'is neither http nor https';
  if (url.username !== '' || url.password !== '') return 'has user information';
  const host = canonicalHost(url.hostname);
  if (host === undefined || port === '0') return 'has no host and port that can be asked for';
  url.hostname = host;
  url.hash = '';
  return { url, host, port: Number(port), resource: netResource(host, Number(port)) };
}

export function netResource(host: string, port: number): string {
  return `net:${host}/${port}`;
}
