import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/base/json.js';
import { accepts, checkNarrower, meetConstraints } from '../../../src/capability/constraint/constraints.js';
import { constraintsExcess, parseConstraints } from '../../../src/capability/constraint/constraints-spec.js';
import { args, constraints, near } from '../../support/capability/arbitrary-constraints.js';

const read = (input: object) => parseConstraints(input, 'tool');

describe('arguments', () => {
  it('of a capability without constraints are all accepted', () => {
    expect([accepts(undefined, { a: 1 }), accepts(undefined)]).toEqual([{ ok: true }, { ok: true }]);
  });

  it.each<[object, JsonValue, string | true]>([
    [{}, {}, true],
    [{}, { a: 1 }, 'a'],
    [{}, { a: {} }, 'a'],
    [{ a: { any: true } }, { a: { b: { c: 1 } } }, true],
    [{ a: { any: true } }, { a: 1, b: 1 }, 'b'],
    [{ a: { any: true } }, {}, 'a'],
    [{ a: { any: true, optional: true } }, {}, true],
    [{ a: { eq: 1, optional: true } }, { a: 2 }, 'a'],
    [{ 'a.b': { eq: 1 } }, { a: { b: 1 } }, true],
    [{ 'a.b': { eq: 1 } }, { a: { b: 1, c: 1 } }, 'a.c'],
    [{ 'a.b': { eq: 1 } }, { a: { b: 1, c: {} } }, 'a.c'],
    [{ 'a.b': { eq: 1, optional: true } }, { a: {} }, 'a'],
    [{ 'a.b': { eq: 1, optional: true } }, { a: [] }, 'a'],
    [{ 'a.b': { eq: 1 } }, { 'a.b': 1 }, 'a.b'],
    [{ a: { any: true } }, { a: { 'b.c': 1 } }, 'a.b.c'],
    [{ '*': { any: true } }, { '*': 1 }, '*'],
    [{ '*': { any: true } }, { 'a.b': 1 }, 'a.b'],
    [{ '*': { any: true } }, { a: { b: 1 }, '': 1 }, true],
    [{ a: { eq: 1 }, '*': { any: true } }, { a: 1, b: [{ 'x.y': 1 }] }, true],
    [{ a: { eq: 1 }, '*': { any: true } }, { b: 1 }, 'a'],
    [{ a: { eq: 1 }, 'a.b': { eq: 1 } }, { a: 1 }, 'a.b'],
    [{ toString: { any: true } }, {}, 'toString'],
    [{ a: { any: true, closed: true }, 'a.b': { eq: 1 } }, { a: { b: 1 } }, true],
    [{ a: { any: true, closed: true }, 'a.b': { eq: 1 } }, { a: { b: 1, c: 1 } }, 'a.c'],
    [{ a: { any: true } }, [1], ''],
    [{}, 'text', ''],
    [{}, null, ''],
  ])('under %j, %j: %s', (input, given, expected) => {
    const result = accepts(read(input), given);
    expect(result.ok || result.path).toBe(expected);
  });

  it('that are absent are an empty object', () => {
    expect([accepts(read({})).ok, accepts(read({ a: { any: true } })).ok]).toEqual([true, false]);
  });

  it('with very long names are judged in bounded time and shown in part', () => {
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, 1]));
    const long = { ['x'.repeat(400_000)]: wide };
    expect(accepts(read({ '*': { any: true } }), long)).toEqual({ ok: true });
    expect(accepts(read({}), long)).toMatchObject({ ok: false, path: 'x'.repeat(256) });
  });
});

describe('child constraints', () => {
  it.each<[object, object, string | true]>([
    [{ a: { eq: 1 } }, { a: { in: [1, 2] } }, true],
    [{ a: { eq: 3 } }, { a: { in: [1, 2] } }, 'a'],
    [{}, { a: { eq: 1, optional: true } }, 'a'],
    [{ a: { eq: 1 } }, { '*': { any: true } }, true],
    [{ '*': { any: true } }, { '*': { any: true } }, true],
    [{ a: { eq: 1 }, '*': { any: true } }, { a: { eq: 1 } }, '*'],
    [{ a: { eq: 1 }, b: { eq: 1 } }, { a: { eq: 1 } }, 'b'],
    [{ a: { any: true }, 'a.b': { eq: 1 } }, { a: { any: true } }, true],
    [{ a: { any: true }, 'a.b': { eq: 1 } }, { 'a.b': { eq: 1 } }, 'a'],
    [{ a: { any: true, closed: true }, 'a.b': { eq: 1 } }, { 'a.b': { eq: 1 } }, true],
    [{ ab: { eq: 1 } }, { a: { any: true, optional: true } }, 'a'],
  ])('%j within %j: %s', (child, parent, expected) => {
    const order = checkNarrower(read(child), read(parent));
    expect(order.ok || order.path).toBe(expected);
  });

  it('are needed where the parent has some, and free where it has none', () => {
    expect([checkNarrower(undefined, {}), checkNarrower({}, undefined), checkNarrower(undefined, undefined)]).toEqual([
      { ok: false, path: '*' },
      { ok: true },
      { ok: true },
    ]);
  });

  it('that are narrower accept nothing that the parent refuses', () => {
    let judged = 0;
    const pair = constraints.chain((parent) => fc.tuple(fc.constant(parent), fc.oneof(near(parent), constraints)));
    fc.assert(
      fc.property(pair, fc.array(args, { minLength: 10, maxLength: 20 }), ([parent, child], values) => {
        if (!checkNarrower(child, parent).ok) return;
        for (const value of values.filter((given) => accepts(child, given).ok)) {
          judged++;
          expect(accepts(parent, value)).toEqual({ ok: true });
        }
      }),
      { numRuns: 2000 },
    );
    expect(judged).toBeGreaterThan(200);
  });

  it('that equal the parent are narrower, and so is whatever they are joined with', () => {
    fc.assert(
      fc.property(constraints, constraints, (parent, child) => {
        expect(checkNarrower(parent, parent)).toEqual({ ok: true });
        expect(checkNarrower(meetConstraints(parent, child), parent)).toEqual({ ok: true });
        expect(checkNarrower(meetConstraints(parent, child), child)).toEqual({ ok: true });
      }),
      { numRuns: 1000 },
    );
  });
});

describe('the meet', () => {
  it('joins two atoms with all, drops any, and keeps one of two that are equal', () => {
    const parent = read({ a: { range: [0, 9] }, b: { any: true }, c: { eq: 1 }, d: { prefix: 'x', optional: true } });
    const child = read({ a: { range: [1, 5] }, b: { eq: 1 }, c: { eq: 1 }, d: { prefix: 'xy', optional: true } });
    expect(meetConstraints(parent, child)).toEqual({
      a: { all: [{ range: [0, 9] }, { range: [1, 5] }] },
      b: { eq: 1 },
      c: { eq: 1 },
      d: { all: [{ prefix: 'x' }, { prefix: 'xy' }], optional: true },
    });
  });

  it('opens a path only where both do', () => {
    const parent = read({ a: { any: true, optional: true } });
    const child = read({ b: { any: true, optional: true }, 'a.b': { eq: 1, optional: true } });
    expect(meetConstraints(parent, child)).toEqual({
      a: { any: true, optional: true, closed: true },
      b: { any: true, optional: true, closed: true },
      'a.b': { eq: 1, optional: true },
    });
  });

  it('of narrower constraints has no closed path, so that it can be stated again', () => {
    const parent = read({ a: { any: true } });
    const child = read({ a: { any: true }, 'a.b': { range: [0, 1] } });
    expect(meetConstraints(parent, child)).toEqual(child);
  });

  it('accepts exactly what both accept', () => {
    const seen = { both: 0, one: 0 };
    const pair = constraints.chain((parent) => fc.tuple(fc.constant(parent), fc.oneof(near(parent), constraints)));
    fc.assert(
      fc.property(pair, fc.array(args, { minLength: 10, maxLength: 20 }), ([parent, child], values) => {
        const joined = meetConstraints(parent, child);
        for (const value of values) {
          const sides = [accepts(parent, value).ok, accepts(child, value).ok];
          if (sides[0] && sides[1]) seen.both++;
          else if (sides[0] || sides[1]) seen.one++;
          expect(accepts(joined, value).ok).toBe(sides[0] && sides[1]);
        }
      }),
      { numRuns: 2000 },
    );
    expect([seen.both > 500, seen.one > 500]).toEqual([true, true]);
  });

  it('can be read again, and is the same', () => {
    fc.assert(
      fc.property(constraints, constraints, (parent, child) => {
        const joined = meetConstraints(parent, child);
        expect(constraintsExcess(joined)).toBe(undefined);
        expect(parseConstraints(joined, 'tool')).toEqual(joined);
        expect(meetConstraints(joined, joined)).toEqual(joined);
      }),
      { numRuns: 500 },
    );
  });
});
