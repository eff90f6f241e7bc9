import jsonPatch from 'fast-json-patch';
import type { JsonValue } from '../base/json.js';

/** One operation of RFC 6902. */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: JsonValue }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string };

/** A patch by RFC 6902. */
export type JsonPatch = readonly JsonPatchOperation[];

/** The patch that turns `before` into `after`; empty when they are equal. */
export function patchBetween(before: JsonValue, after: JsonValue): JsonPatch {
  if (isTree(before) && isTree(after) && Array.isArray(before) === Array.isArray(after)) {
    return jsonPatch.compare(before, after) as JsonPatch;
  }
  return before === after ? [] : [{ op: 'replace', path: '', value: after }];
}

function isTree(value: JsonValue): value is JsonValue[] | Record<string, JsonValue> {
  return typeof value === 'object' && value !== null;
}
