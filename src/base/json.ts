import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

type JsonPrimitive = string | number | boolean | null;
/** Any JSON value. */
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue };

/** The type itself where its values are JSON, also for interfaces, which have no index signature; else a type that they do not fit. */
export type JsonCompatible<T> = T extends JsonValue | undefined
  ? T
  : T extends bigint | symbol | ((...args: never[]) => unknown)
    ? never
    : { readonly [Member in keyof T]: JsonCompatible<T[Member]> };

/** The type with read-only members, all the way down. */
export type ReadonlyJson<T> = JsonValue extends T
  ? T
  : T extends object
    ? { readonly [Member in keyof T]: ReadonlyJson<T[Member]> }
    : T;

/** The RFC 8785 text of plain JSON: equal values have equal texts. */
export function canonicalJson(value: JsonValue): string {
  return canonicalize(value) as string;
}

/** Whether the text of a value has certainly more characters than `max`. Looks at no more of the value than that. */
export function isLongerThan(value: JsonValue, max: number): boolean {
  let left = max;
  const count = (part: JsonValue): void => {
    left -= typeof part === 'string' ? part.length + 2 : 1;
    if (typeof part !== 'object' || part === null) return;
    if (Array.isArray(part)) {
      for (const item of part) {
        if (left < 0) return;
        count(item);
      }
      return;
    }
    const members = part as JsonObject;
    for (const name in members) {
      if (left < 0) return;
      left -= name.length + 2;
      count(members[name] ?? null);
    }
  };
  count(value);
  return left < 0;
}

/** SHA-256 as 64 lower-case hex digits. */
export type Hash = string;

export function sha256Hex(bytes: string | Uint8Array): Hash {
  return hash('sha256', bytes, 'hex');
}

/** Whether both have the same RFC 8785 text; NaN is like nothing. */
export function isSameJson(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && sameItems(a, b);
  return isObject(a) && isObject(b) && sameMembers(a, b);
}

export function isText(value: JsonValue): value is string {
  return typeof value === 'string';
}

export function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sameItems(a: readonly JsonValue[], b: readonly JsonValue[]): boolean {
  return a.length === b.length && a.every((item, index) => isSameJson(item, b[index] ?? null));
}

function sameMembers(a: JsonObject, b: JsonObject): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name] ?? null, b[name] ?? null));
}
