import { canonicalJson, type JsonValue, sha256Hex } from '../../base/json.js';
import type { ParsedImage } from './image-definition.js';

/**
 * Tells versions of the code behind one `name@version` apart: the `build` of the image, else a hash of the text of its
 * functions and of the names and numbers around them. Code that the functions call, and what they close over, is not seen.
 */
export function buildOf({ build, run, steps, supervision, command, retry }: ParsedImage): string {
  if (build !== undefined) return build;
  const program = [run, steps, supervision, command, retry].map((part) => toText(part));
  return sha256Hex(canonicalJson(program)).slice(0, 16);
}

/** JSON in which every function is replaced by its text. */
function toText(part: unknown): JsonValue {
  if (typeof part === 'function') return Function.prototype.toString.call(part);
  if (Array.isArray(part)) return part.map(toText);
  if (typeof part !== 'object' || part === null) return (part ?? null) as JsonValue;
  const members = Object.entries(part).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, toText(member)]));
}
