import { canonicalHost, canonicalHostPattern } from './net-host.js';
import { badResource } from './resource-text.js';

/** The two segments of `net:HOST/PORT`. `**` after the host, or for both, stands for every port. */
export function netSegments(body: string, whole: string, form: 'pattern' | 'request'): readonly string[] {
  if (form === 'pattern' && body === '**') return ['*', '*'];
  const slash = body.lastIndexOf('/');
  if (slash < 0) throw badResource(whole, 'has no port', `Write it as "net:${body}/443".`);
  return [host(body.slice(0, slash), whole, form), port(body.slice(slash + 1), whole, form)];
}

function host(text: string, whole: string, form: 'pattern' | 'request'): string {
  if (text.includes('@')) throw badResource(whole, 'has user information', 'Leave out what stands before "@".');
  const canonical = form === 'pattern' ? canonicalHostPattern(text) : canonicalHost(text);
  if (canonical !== undefined) return canonical;
  throw badResource(
    whole,
    `${JSON.stringify(text)} is not a host`,
    'Write "net:HOST/PORT", with an IPv6 address in brackets; "*.example.com" stands for every name below it.',
  );
}

function port(text: string, whole: string, form: 'pattern' | 'request'): string {
  if (form === 'pattern' && (text === '*' || text === '**')) return '*';
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65535) return text;
  throw badResource(
    whole,
    `${JSON.stringify(text)} is not a port`,
    'Give a number from 1 to 65535, without zeros before it.',
  );
}
