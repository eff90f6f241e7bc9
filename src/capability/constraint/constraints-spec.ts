import { invalidInput } from '../../base/errors.js';
import { isObject, type JsonValue } from '../../base/json.js';
import { copyPlain } from '../../base/spec.js';
import type { ResourceKind } from '../resource/resource.js';
import { parseAtom } from './atom-spec.js';
import { type Atom, type Constraints, constraintPathMax } from './atoms.js';

export const constraintLimits = { paths: 64, atoms: 256, bytes: 64 * 1024, depth: 16 } as const;

/**
 * Constraints in canonical spelling. Throws INVALID_INPUT that names the path: for an unknown atom, a malformed value,
 * too much of anything, and for kinds whose use has no arguments.
 */
export function parseConstraints(input: unknown, kind: ResourceKind, path = 'constraints'): Constraints {
  if (!constrainedKinds.has(kind)) {
    throw invalidInput(path, `${kind} takes no constraints`, 'Constrain tool, command, net or model resources.');
  }
  const plain = copyPlain(input, path, { bytesMax: copyBytesMax, depthMax: constraintLimits.depth });
  if (!isObject(plain)) throw invalidInput(path, 'is not a map', 'Give a map from argument path to atom.');
  const constraints = Object.fromEntries(
    Object.entries(plain).map(([key, atom]): [string, Atom] => {
      checkKey(key, path);
      return [key, key === '*' ? parseRest(atom, `${path}.*`) : parseAtom(atom, `${path}.${key}`)];
    }),
  );
  const excess = constraintsExcess(constraints);
  if (excess !== undefined) throw invalidInput(path, excess, 'Split it over several capabilities.');
  return constraints;
}

/** The limit that constraints exceed, as a phrase for an error; undefined when they exceed none. */
export function constraintsExcess(constraints: Constraints): string | undefined {
  const atoms = Object.values(constraints);
  if (atoms.length > constraintLimits.paths) return `has more than ${constraintLimits.paths} paths`;
  if (atoms.reduce((sum, atom) => sum + atomCount(atom), 0) > constraintLimits.atoms) {
    return `has more than ${constraintLimits.atoms} atoms`;
  }
  const bytes = Buffer.byteLength(JSON.stringify(constraints));
  return bytes > constraintLimits.bytes ? `is larger than ${constraintLimits.bytes} bytes` : undefined;
}

/** The kinds whose use has arguments. */
export const constrainedKinds: ReadonlySet<ResourceKind> = new Set(['tool', 'command', 'net', 'model']);
// The copy counts a number as 24 bytes, so this lets through whatever fits the limit as text.
const copyBytesMax = 16 * constraintLimits.bytes;

function checkKey(key: string, path: string): void {
  if (key === '*') return;
  const names = key.split('.');
  if (key.length <= constraintPathMax && !names.includes('') && !names.includes('*')) return;
  throw invalidInput(
    path,
    `${JSON.stringify(key.slice(0, 64))} is not an argument path`,
    `Join member names with ".", up to ${constraintPathMax} characters; "*" alone stands for all other arguments.`,
  );
}

function parseRest(input: JsonValue, path: string): Atom {
  const atom = parseAtom(input, path);
  if ('any' in atom && atom.optional === undefined && atom.closed === undefined) return atom;
  throw invalidInput(path, 'can only be { any: true }', 'Name the arguments that other atoms are for.');
}

function atomCount(atom: Atom): number {
  return 'all' in atom ? atom.all.reduce((sum, part) => sum + atomCount(part), 1) : 1;
}
