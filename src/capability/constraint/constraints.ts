import { isObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { isNarrowerAtom, meetAtoms } from './atom-order.js';
import { type Atom, atomRefusal, type ConstraintEnv, type Constraints, constraintPathMax } from './atoms.js';

export type Acceptance =
  | { readonly ok: true }
  | { readonly ok: false; readonly path: string; readonly reason: string; readonly hint?: string };

/**
 * Whether `args`, plain JSON, satisfy every atom, and nothing is in them at a path that no atom opens.
 * Without constraints everything is accepted. `path` names the argument that failed; it is empty for the whole.
 * `inherited` are arguments that nobody has given: atoms are compared with them, but no atom needs to open their paths.
 */
export function accepts(
  constraints: Constraints | undefined,
  args: JsonValue = {},
  env: ConstraintEnv = {},
  inherited?: JsonObject,
): Acceptance {
  if (constraints === undefined) return { ok: true };
  if (!isObject(args)) return { ok: false, path: '', reason: 'the arguments are not a JSON object' };
  const given = inherited === undefined ? args : without(args, inherited);
  const stray = findStray(constraints, given, undefined, isOpen(constraints));
  if (stray !== undefined) return stray;
  const all = inherited === undefined ? args : { ...inherited, ...args };
  for (const [path, atom] of entriesOf(constraints)) {
    const value = valueAt(all, path);
    if (value === undefined && atom.optional === true) continue;
    if (value === undefined) return { ok: false, path, reason: 'is missing' };
    const refusal = atomRefusal(atom, value, env);
    if (refusal !== undefined) return { ok: false, path, ...refusal };
  }
  return { ok: true };
}

/**
 * Whether `child` is the same as `parent` or narrower: every atom of the parent is there, same or narrower, and no path
 * is opened that the parent keeps closed. `path` names the first that is wider. Sound: what child accepts, parent does.
 */
export function checkNarrower(
  child: Constraints | undefined,
  parent: Constraints | undefined,
): { readonly ok: true } | { readonly ok: false; readonly path: string } {
  if (parent === undefined) return { ok: true };
  if (child === undefined) return { ok: false, path: '*' };
  for (const [path, atom] of entriesOf(parent)) {
    const own = atomAt(child, path);
    if (own === undefined || !isNarrowerAtom(own, atom)) return { ok: false, path };
  }
  if (isOpen(parent)) return { ok: true };
  if (isOpen(child)) return { ok: false, path: '*' };
  const wider = entriesOf(child).find(([path, atom]) => atom.closed !== true && !opensTo(parent, path));
  return wider === undefined ? { ok: true } : { ok: false, path: wider[0] };
}

/**
 * The constraints that accept exactly what both accept. Built without asking which is narrower, so that a mistake there
 * cannot widen. A path stays open only where both open it.
 */
export function meetConstraints(parent: Constraints, child: Constraints): Constraints {
  const paths = new Set([...entriesOf(parent), ...entriesOf(child)].map(([path]) => path));
  const entries = [...paths].map((path): [string, Atom] => {
    const atom = meetAtoms(atomAt(parent, path) ?? absent, atomAt(child, path) ?? absent);
    return [path, opensTo(parent, path) && opensTo(child, path) ? atom : { ...atom, closed: true }];
  });
  if (isOpen(parent) && isOpen(child)) entries.push(['*', { any: true }]);
  return Object.fromEntries(entries);
}

/**
 * Whether any of the constraints is about the environment of a command. `*` is not: variables can change what every other
 * argument means, so they are opened by name only.
 */
export function constrainsEnvironment(constraints: Constraints): boolean {
  return Object.keys(constraints).some((path) => path === 'env' || path.startsWith('env.'));
}

/** Stands for the atom of a path that has none. */
const absent: Atom = { any: true, optional: true };

/**
 * The first thing in `value` that may not be there: a name that a path cannot spell, a number that JSON does not have,
 * or a leaf (scalar, array, empty object) that lies neither at nor below an opened path.
 */
function findStray(
  constraints: Constraints,
  value: JsonValue,
  path: string | undefined,
  opened: boolean,
): Acceptance | undefined {
  if (!isObject(value) || (path !== undefined && Object.keys(value).length === 0))
    return strayOfLeaf(constraints, value, path, opened);
  for (const [name, member] of Object.entries(value)) {
    const memberPath = path === undefined ? name : `${path}.${name}`;
    if (name === '*' || name.includes('.')) return strayAt(memberPath, 'has a name that is "*" or has a "."');
    const stray = findStray(constraints, member, memberPath, opened || opensAt(constraints, memberPath));
    if (stray !== undefined) return stray;
  }
  return undefined;
}

function strayOfLeaf(constraints: Constraints, value: JsonValue, path = '', opened: boolean): Acceptance | undefined {
  if (!opened) {
    return strayAt(outermostStray(constraints, path), 'is not among the allowed arguments', 'Leave this argument out.');
  }
  return isFiniteJson(value) ? undefined : strayAt(path, 'has a number that is not finite');
}

/** The outermost member on the way to `path` at and below which there is no atom: all of it has to be left out. */
function outermostStray(constraints: Constraints, path: string): string {
  const names = path.slice(0, constraintPathMax).split('.');
  const keys = Object.keys(constraints);
  const prefixes = names.map((_, index) => names.slice(0, index + 1).join('.'));
  return prefixes.find((prefix) => !keys.some((key) => key === prefix || key.startsWith(`${prefix}.`))) ?? path;
}

/** The caller chooses the names of arguments, so the path is bounded before it is shown. */
function strayAt(path: string, reason: string, hint?: string): Acceptance {
  const shown = path.slice(0, constraintPathMax).toWellFormed();
  return { ok: false, path: shown, reason, ...(hint === undefined ? {} : { hint }) };
}

function isFiniteJson(value: JsonValue): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isFiniteJson);
  return !isObject(value) || Object.values(value).every(isFiniteJson);
}

function valueAt(args: JsonValue, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = args;
  for (const name of path.split('.')) {
    if (value === undefined || !isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function without(args: JsonObject, names: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !Object.hasOwn(names, name)));
}

function entriesOf(constraints: Constraints): [string, Atom][] {
  return Object.entries(constraints).filter(([path]) => path !== '*');
}

function atomAt(constraints: Constraints, path: string): Atom | undefined {
  return Object.hasOwn(constraints, path) ? constraints[path] : undefined;
}

function isOpen(constraints: Constraints): boolean {
  return Object.hasOwn(constraints, '*');
}

/** Whether a leaf at `path` is let in: an atom that is not closed stands there or above, or all is open. */
function opensTo(constraints: Constraints, path: string): boolean {
  if (isOpen(constraints)) return true;
  const names = path.split('.');
  return names.some((_, index) => opensAt(constraints, names.slice(0, index + 1).join('.')));
}

/** A path longer than any key is not looked up: the names of arguments may be long, and the lookup copies the path. */
function opensAt(constraints: Constraints, path: string): boolean {
  const atom = path.length > constraintPathMax ? undefined : atomAt(constraints, path);
  return atom !== undefined && atom.closed !== true;
}
