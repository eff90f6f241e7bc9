import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

type JsonPrimitive = string | number | boolean | null;
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

/** The RFC 8785 text of plain JSON: equal values have equal texts. */
export function canonicalJson(value: JsonValue): string {
  return canonicalize(value) as string;
}

/** SHA-256 as 64 lower-case hex digits. */
export type Hash = string;

export function sha256Hex(bytes: string | Uint8Array): Hash {
  return hash('sha256', bytes, 'hex');
}
