import type { JsonValue } from '../../index.js';

/** The result of a tool as the SDKs write it for models: nothing is null, and members without a JSON form are left out. */
export function toJson(result: unknown): JsonValue {
  return result === undefined ? null : (JSON.parse(JSON.stringify(result) ?? 'null') as JsonValue);
}
