import { canonicalJson, isSameJson, type JsonValue } from '../../base/json.js';
import { cidrCovers, parseCidr } from '../resource/cidr.js';
import { covers, parsePattern, segmentCovers } from '../resource/resource.js';
import { type Atom, type AtomTest, atomRefusal } from './atoms.js';

/** Whether `parent` accepts whatever `child` accepts. Sound; across kinds only `eq` and `in` can be narrower. */
export function isNarrowerAtom(child: Atom, parent: Atom): boolean {
  if (child.optional === true && parent.optional !== true) return false;
  return implies(child, parent);
}

/** The atom that accepts what both accept; required unless both are optional. `closed` is the caller's to say. */
export function meetAtoms(a: Atom, b: Atom): Atom {
  const parts = new Map([...partsOf(a), ...partsOf(b)].map((part) => [canonicalJson(part as JsonValue), part]));
  const [first, ...others] = parts.values();
  const test: AtomTest =
    first === undefined ? { any: true } : others.length === 0 ? first : { all: [first, ...others] };
  return a.optional === true && b.optional === true ? { ...test, optional: true } : test;
}

function implies(child: AtomTest, parent: AtomTest): boolean {
  if ('any' in parent) return true;
  if ('all' in parent) return parent.all.every((atom) => implies(child, atom));
  if ('all' in child) return child.all.some((atom) => implies(atom, parent));
  if ('eq' in child) return acceptsAll([child.eq], parent);
  if ('in' in child) return acceptsAll(child.in, parent);
  if ('range' in child) return 'range' in parent && isInside(child.range, parent.range);
  if ('length' in child) return 'length' in parent && isInside(child.length, parent.length);
  if ('prefix' in child) return 'prefix' in parent && child.prefix.startsWith(parent.prefix);
  if ('subset' in child) return 'subset' in parent && child.subset.every((item) => includesJson(parent.subset, item));
  if ('hash' in child) return 'hash' in parent && child.hash === parent.hash;
  if ('path' in child) return 'path' in parent && covers(fsPattern(parent.path), fsPattern(child.path));
  if ('host' in child) return 'host' in parent && segmentCovers(parent.host, child.host);
  if ('cidr' in child) return 'cidr' in parent && cidrCovers(parseCidr(parent.cidr), parseCidr(child.cidr));
  return false;
}

/** Judged without a workspace: an absolute path is refused here, so it is never taken for narrower. */
function acceptsAll(members: readonly JsonValue[], parent: AtomTest): boolean {
  return members.every((member) => atomRefusal(parent, member, {}) === undefined);
}

function isInside(child: readonly [number, number], parent: readonly [number, number]): boolean {
  return parent[0] <= child[0] && child[1] <= parent[1];
}

function includesJson(members: readonly JsonValue[], item: JsonValue): boolean {
  return members.some((member) => isSameJson(member, item));
}

function fsPattern(path: string) {
  return parsePattern(`fs:${path}`);
}

/** The tests that an atom joins, without options; none for `any`, which adds nothing to the others. */
function partsOf(atom: Atom): AtomTest[] {
  if ('any' in atom) return [];
  if ('all' in atom) return atom.all.flatMap(partsOf);
  const { optional, closed, ...test } = atom;
  return [test];
}
