import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../src/base/json.js';
import type { Atom, Constraints } from '../../../src/capability/constraint/atoms.js';
import { parseConstraints } from '../../../src/capability/constraint/constraints-spec.js';

const paths = ['a', 'b', 'a.b', 'a.c', 'a.b.c'];

const leaves: readonly JsonValue[] = [
  0,
  1,
  2,
  'x',
  'xy',
  'src/a',
  'lib',
  'a.com',
  '10.0.0.1',
  [],
  [1],
  [1, 'x'],
  {},
  null,
];

const tests: readonly Atom[] = [
  { any: true },
  { eq: 1 },
  { in: [1, 2, 'x', 'src/a'] },
  { in: [{ b: 1 }, { b: { c: 1 } }, { c: 1, b: 1 }] },
  { range: [0, 1] },
  { range: [1, 5] },
  { length: [1, 2] },
  { length: [0, 5] },
  { path: '**' },
  { path: 'src/*' },
  { host: '*.com' },
  { cidr: '10.0.0.0/8' },
  { prefix: 'x' },
  { prefix: 's' },
  { subset: [1] },
  { subset: [1, 'x'] },
];

const atom: fc.Arbitrary<Atom> = fc
  .tuple(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...tests) },
      fc.array(fc.constantFrom(...tests), { minLength: 1, maxLength: 3 }).map((all): Atom => ({ all })),
    ),
    fc.boolean(),
    fc.nat(5),
  )
  .map(([test, optional, closed]) => ({
    ...test,
    ...(optional ? { optional: true as const } : {}),
    ...(closed === 0 ? { closed: true as const } : {}),
  }));

export const constraints: fc.Arbitrary<Constraints> = fc
  .tuple(fc.dictionary(fc.constantFrom(...paths), atom, { maxKeys: 4 }), fc.boolean())
  .map(([atoms, open]) => parseConstraints({ ...atoms, ...(open ? { '*': { any: true } } : {}) }, 'tool'));

/** Constraints near `parent`: most atoms kept, some replaced, some added, the rest kept open or closed. */
export function near(parent: Constraints): fc.Arbitrary<Constraints> {
  const kept = Object.entries(parent).filter(([path]) => path !== '*');
  return fc
    .tuple(
      fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, atom), {
        minLength: kept.length,
        maxLength: kept.length,
      }),
      fc.dictionary(fc.constantFrom(...paths), atom, { maxKeys: 1 }),
      fc.boolean(),
    )
    .map(([replaced, added, open]) =>
      parseConstraints(
        {
          ...added,
          ...Object.fromEntries(kept.map(([path, own], index) => [path, replaced[index] ?? own])),
          ...(open && Object.hasOwn(parent, '*') ? { '*': { any: true } } : {}),
        },
        'tool',
      ),
    );
}

const leaf = fc.constantFrom(...leaves);
const inner = fc.oneof(leaf, fc.dictionary(fc.constantFrom('c', 'd'), leaf, { maxKeys: 2 }));

/** Arguments that often lie where the constraints above look. */
export const args: fc.Arbitrary<JsonObject> = fc.record(
  {
    a: fc.oneof(leaf, fc.record({ b: inner, c: leaf }, { requiredKeys: [] })),
    b: leaf,
    other: leaf,
  },
  { requiredKeys: [] },
);
