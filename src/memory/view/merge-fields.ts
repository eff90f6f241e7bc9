import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../base/json.js';

/** The outcome of a merge by fields: the merged value, or the JSON pointers of what both sides have changed differently. */
export type FieldsMerge = { readonly value: JsonValue } | { readonly paths: readonly string[] };

/** A value, or undefined where a member is absent. */
type Field = JsonValue | undefined;

/**
 * Merges two values that were changed independently. Members of objects, and elements of lists that are as long on all sides,
 * are merged each by itself; a member that is absent from the base counts as an empty object where both sides have added one.
 */
export function mergeFields(base: JsonValue, ours: JsonValue, theirs: JsonValue): FieldsMerge {
  const paths: string[] = [];
  const value = mergeAt('', base, ours, theirs, paths);
  return paths.length > 0 || value === undefined ? { paths } : { value };
}

function mergeAt(path: string, base: Field, ours: Field, theirs: Field, conflicts: string[]): Field {
  if (isDeepStrictEqual(base, theirs) || isDeepStrictEqual(ours, theirs)) return ours;
  if (isDeepStrictEqual(base, ours)) return theirs;
  if (isObject(ours) && isObject(theirs) && (base === undefined || isObject(base)))
    return mergeObjects(path, base ?? {}, ours, theirs, conflicts);
  if (isList(ours) && isList(theirs) && isList(base) && isSameLength(base, ours, theirs))
    return ours.map((item, index) => mergeAt(`${path}/${index}`, base[index], item, theirs[index], conflicts) ?? null);
  conflicts.push(path);
  return undefined;
}

function mergeObjects(
  path: string,
  base: JsonObject,
  ours: JsonObject,
  theirs: JsonObject,
  conflicts: string[],
): JsonObject {
  const members: [string, JsonValue][] = [];
  for (const name of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
    const [inBase, inOurs, inTheirs] = [memberOf(base, name), memberOf(ours, name), memberOf(theirs, name)];
    const merged = mergeAt(`${path}/${toPointerPart(name)}`, inBase, inOurs, inTheirs, conflicts);
    if (merged !== undefined) members.push([name, merged]);
  }
  return Object.fromEntries(members);
}

function memberOf(object: JsonObject, name: string): Field {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** As RFC 6901 writes a name in a pointer. */
function toPointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isList(value: Field): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function isObject(value: Field): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSameLength(...[first, ...others]: (readonly JsonValue[])[]): boolean {
  return others.every(({ length }) => length === first?.length);
}
