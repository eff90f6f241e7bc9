import { canonicalJson, isSameJson, isText, type JsonValue, sha256Hex } from '../../base/json.js';
import { type AtomRefusal, addressRefusal, hostRefusal, pathRefusal } from './atom-spelling.js';

/** A test of one argument. Atoms compare and never rewrite; there is no negation, so "narrower" stays decidable. */
export type AtomTest =
  | { readonly any: true }
  | { readonly eq: JsonValue }
  | { readonly in: readonly JsonValue[] }
  | { readonly range: readonly [number, number] }
  | { readonly length: readonly [number, number] }
  | { readonly path: string }
  | { readonly host: string }
  | { readonly cidr: string }
  | { readonly prefix: string }
  | { readonly subset: readonly JsonValue[] }
  | { readonly hash: string }
  | { readonly all: readonly Atom[] };

/** The names of the tests. */
export type AtomName = AtomTest extends infer Test ? (Test extends unknown ? keyof Test : never) : never;

export type AtomOptions = {
  /** The argument may be absent. */
  readonly optional?: true;
  /** The atom is checked but does not open its path: another atom must, or the closed world refuses what is there. */
  readonly closed?: true;
};

/** A test of one argument, with its options. The tests are listed in docs/tables.md#constraint-atoms. */
export type Atom = AtomTest & AtomOptions;

/** From an argument path, names joined by `.`, to what stands there; `"*": { any: true }` lets in all other arguments. */
export type Constraints = Readonly<Record<string, Atom>>;

/** The longest argument path that constraints can name, in UTF-16 units. */
export const constraintPathMax = 256;

export interface ConstraintEnv {
  /** Absolute path of the workspace; without it, absolute path arguments are refused. */
  readonly workspace?: string;
}

/** Why `value` is not what `atom` accepts; undefined when it is. */
export function atomRefusal(atom: AtomTest, value: JsonValue, env: ConstraintEnv): AtomRefusal | undefined {
  if ('any' in atom) return undefined;
  if ('all' in atom) return firstRefusal(atom.all, value, env);
  if ('eq' in atom) return refuseUnless(isSameJson(atom.eq, value), 'is not the value that is allowed');
  if ('in' in atom) return refuseUnless(isMember(atom.in, value), 'is not one of the values that are allowed');
  if ('range' in atom)
    return refuseUnless(inRange(atom.range, value), `is not a number from ${atom.range.join(' to ')}`);
  if ('length' in atom)
    return refuseUnless(inRange(atom.length, lengthOf(value)), `is not ${atom.length.join(' to ')} long`);
  if ('prefix' in atom)
    return refuseUnless(isText(value) && value.startsWith(atom.prefix), 'does not start as it must');
  if ('subset' in atom) return refuseUnless(isSubset(atom.subset, value), 'has items that are not allowed');
  if ('hash' in atom) return refuseUnless(hasHash(atom.hash, value), 'is not the value with the hash that is allowed');
  if (!isText(value)) return { reason: 'is not a text' };
  if ('path' in atom) return pathRefusal(atom.path, value, env.workspace);
  if ('host' in atom) return hostRefusal(atom.host, value);
  return addressRefusal(atom.cidr, value);
}

function firstRefusal(atoms: readonly Atom[], value: JsonValue, env: ConstraintEnv): AtomRefusal | undefined {
  for (const atom of atoms) {
    const refusal = atomRefusal(atom, value, env);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function refuseUnless(holds: boolean, reason: string): AtomRefusal | undefined {
  return holds ? undefined : { reason };
}

function isMember(members: readonly JsonValue[], value: JsonValue): boolean {
  return members.some((member) => isSameJson(member, value));
}

function isSubset(members: readonly JsonValue[], value: JsonValue): boolean {
  return Array.isArray(value) && value.every((item: JsonValue) => isMember(members, item));
}

/** NaN and the infinities lie in no range. */
function inRange([low, high]: readonly [number, number], value: JsonValue | undefined): boolean {
  return typeof value === 'number' && Number.isFinite(value) && low <= value && value <= high;
}

function lengthOf(value: JsonValue): number | undefined {
  if (isText(value)) return Buffer.byteLength(value);
  return Array.isArray(value) ? value.length : undefined;
}

function hasHash(hash: string, value: JsonValue): boolean {
  return sha256Hex(canonicalJson(value)) === hash;
}
