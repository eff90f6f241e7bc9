import type { JsonObject, JsonValue } from '../../base/json.js';

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
