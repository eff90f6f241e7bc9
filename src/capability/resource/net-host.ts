/**
 * The canonical spelling of a host: lower case, IDNA, IPv4 dotted, IPv6 in brackets and unmapped where it carries an
 * IPv4 address, no last dot. Undefined for what is not a host.
 */
export function canonicalHost(text: string): string | undefined {
  if (!plain.test(text) && !bracketed.test(text)) return undefined;
  const url = `http://${text.endsWith('.') ? text.slice(0, -1) : text}/`;
  if (!URL.canParse(url)) return undefined;
  const host = new URL(url).hostname;
  if (host.startsWith('[')) return unmapIpv4(host);
  return host.split('.').includes('') ? undefined : host;
}

/** The canonical spelling of a host pattern: `*`, `*.name`, or a host. Undefined for anything else. */
export function canonicalHostPattern(text: string): string | undefined {
  if (text === '*') return text;
  if (!text.startsWith('*.')) return canonicalHost(text);
  const base = canonicalHost(text.slice(2));
  return base === undefined || isAddress(base) ? undefined : `*.${base}`;
}

/** Whether a canonical host is an IP address. */
export function isAddress(host: string): boolean {
  return host.startsWith('[') || dotted.test(host);
}

const dotted = /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;
const bracketed = /^\[[0-9a-fA-F:.]+\]$/;
// Characters that end the host part of a URL, or are decoded there, are not part of a host.
const plain = /^[^/?#@\\%:*[\]\s]+$/;
const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

function unmapIpv4(host: string): string {
  const [, high, low] = mapped.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  const words = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return words.flatMap((word) => [word >> 8, word & 255]).join('.');
}
