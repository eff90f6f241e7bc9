import type { JsonObject, JsonValue } from '../../index.js';

/** Deeper schemas, and those that contain themselves, end in a schema that allows anything. */
const depthMax = 24;
/** Keywords that providers refuse, or that have no meaning without references. */
const droppedKeywords: ReadonlySet<string> = new Set(['$schema', '$id', '$defs', 'definitions', 'propertyNames']);

/**
 * The schema of a tool as providers take it: an object schema without `$ref` and `propertyNames`. References are replaced by
 * the schemas that they name.
 */
export function toPlainSchema(input: JsonObject): JsonObject {
  const plain = inline(input, input, 0, new Set()) as JsonObject;
  const isEmpty = Object.keys(plain).length === 0;
  // Providers want an object schema, also for a tool without arguments.
  return isEmpty ? { type: 'object', properties: {} } : plain;
}

function inline(value: JsonValue, root: JsonObject, depth: number, open: ReadonlySet<string>): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > depthMax) return {};
  if (Array.isArray(value)) return value.map((item) => inline(item, root, depth + 1, open));
  const { $ref: reference } = value as JsonObject;
  if (typeof reference === 'string') {
    const target = open.has(reference) ? undefined : find(root, reference);
    return target === undefined ? {} : inline(target, root, depth + 1, new Set([...open, reference]));
  }
  const members = Object.entries(value).filter(([key]) => !droppedKeywords.has(key));
  return Object.fromEntries(members.map(([key, member]) => [key, memberOf(key, member, root, depth, open)]));
}

/** Under `properties` the keys are names, which may be those of keywords. */
function memberOf(
  key: string,
  member: JsonValue,
  root: JsonObject,
  depth: number,
  open: ReadonlySet<string>,
): JsonValue {
  const isMap = key === 'properties' || key === 'patternProperties';
  if (!isMap || typeof member !== 'object' || member === null || Array.isArray(member))
    return key === 'enum' || key === 'const' || key === 'default' ? member : inline(member, root, depth + 1, open);
  return Object.fromEntries(
    Object.entries(member).map(([name, schema]) => [name, inline(schema, root, depth + 1, open)]),
  );
}

/** The schema that a reference within the document names. */
function find(root: JsonObject, reference: string): JsonValue | undefined {
  if (!reference.startsWith('#')) return undefined;
  const path = reference.slice(1).split('/').slice(1);
  let found: JsonValue | undefined = root;
  for (const segment of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    const key = decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~');
    found = (found as JsonObject)[key];
  }
  return found;
}
