import { docPages } from '../../base/doc-pages.js';
import { type InputError, invalidInput } from '../../base/errors.js';
import { isObject, isText, type JsonObject, type JsonValue } from '../../base/json.js';
import { parseCidr } from '../resource/cidr.js';
import { canonicalHostPattern } from '../resource/net-host.js';
import { parsePattern } from '../resource/resource.js';
import type { Atom, AtomName, AtomOptions, AtomTest } from './atoms.js';

/** One atom in canonical spelling, from plain JSON. Throws INVALID_INPUT that names `path`. */
export function parseAtom(input: JsonValue, path: string): Atom {
  if (!isObject(input)) throw invalidAtom(path, 'is not an atom');
  const options = parseOptions(input, path);
  const names = Object.keys(input).filter((name) => name !== 'optional' && name !== 'closed');
  const [name = '', ...others] = names;
  if (!isAtomName(name) || others.length > 0) {
    throw invalidAtom(path, `${JSON.stringify(names).slice(0, 200).toWellFormed()} is not one known atom`);
  }
  return { ...parsers[name](input[name] ?? null, `${path}.${name}`), ...options };
}

const parsers = {
  any: (value, path) => {
    if (value !== true) throw invalidAtom(path, 'is not true');
    return { any: true };
  },
  eq: (value) => ({ eq: value }),
  in: (value, path) => {
    const members = requireList(value, path);
    if (members.length === 0) throw invalidAtom(path, 'is empty, so nothing could be accepted');
    return { in: members };
  },
  range: (value, path) => ({ range: requireBounds(value, path) }),
  length: (value, path) => {
    const [low, high] = requireBounds(value, path);
    if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || low < 0)
      throw invalidAtom(path, 'has no whole lengths');
    return { length: [low, high] };
  },
  path: (value, path) => ({ path: parsePathPattern(requireText(value, path), path) }),
  host: (value, path) => {
    const host = canonicalHostPattern(requireText(value, path));
    if (host === undefined) throw invalidAtom(path, 'is not a host, "*.host" or "*"');
    return { host };
  },
  cidr: (value, path) => {
    const cidr = requireText(value, path);
    parseCidr(cidr, path);
    return { cidr };
  },
  prefix: (value, path) => ({ prefix: requireText(value, path) }),
  subset: (value, path) => ({ subset: requireList(value, path) }),
  hash: (value, path) => {
    const hash = requireText(value, path);
    if (!/^[0-9a-f]{64}$/.test(hash)) throw invalidAtom(path, 'is not a SHA-256 in lower-case hex');
    return { hash };
  },
  all: (value, path) => {
    const atoms = requireList(value, path).map((atom, index) => parseAtom(atom, `${path}[${index}]`));
    if (atoms.length === 0) throw invalidAtom(path, 'is empty');
    if (atoms.some((atom) => atom.optional === true || atom.closed === true)) {
      throw invalidAtom(path, 'has options inside; they stand beside "all"');
    }
    return { all: atoms };
  },
} satisfies Record<AtomName, (value: JsonValue, path: string) => AtomTest>;

function isAtomName(name: string): name is AtomName {
  return Object.hasOwn(parsers, name);
}

function parseOptions(input: JsonObject, path: string): AtomOptions {
  for (const name of ['optional', 'closed']) {
    if (Object.hasOwn(input, name) && input[name] !== true) throw invalidAtom(`${path}.${name}`, 'can only be true');
  }
  return {
    ...(Object.hasOwn(input, 'optional') ? { optional: true } : {}),
    ...(Object.hasOwn(input, 'closed') ? { closed: true } : {}),
  };
}

function requireText(value: JsonValue, path: string): string {
  if (!isText(value)) throw invalidAtom(path, 'is not a text');
  return value;
}

function requireList(value: JsonValue, path: string): readonly JsonValue[] {
  if (!Array.isArray(value)) throw invalidAtom(path, 'is not a list');
  return value;
}

function requireBounds(value: JsonValue, path: string): readonly [number, number] {
  const [low, high, ...others] = requireList(value, path);
  if (typeof low !== 'number' || typeof high !== 'number' || others.length > 0 || low > high) {
    throw invalidAtom(path, 'is not a lower and an upper bound');
  }
  return [low, high];
}

function parsePathPattern(pattern: string, path: string): string {
  try {
    return parsePattern(`fs:${pattern}`).text.slice('fs:'.length);
  } catch (error) {
    throw invalidInput(path, 'is not a path pattern', 'Write it as in "fs:" resources, without the kind: "src/**".', {
      cause: error instanceof Error ? error.message : '',
    });
  }
}

function invalidAtom(path: string, problem: string): InputError {
  return invalidInput(path, problem, `An atom is one of: ${Object.keys(parsers).join(', ')}. See ${docPages.atoms}.`);
}
