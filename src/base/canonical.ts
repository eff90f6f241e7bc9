import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { JsonValue } from './json.js';

/** RFC 8785 text of plain JSON: one spelling for one value. */
export function canonicalJson(value: JsonValue): string {
  return canonicalize(value) as string;
}

export function sha256Hex(bytes: string | Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}
