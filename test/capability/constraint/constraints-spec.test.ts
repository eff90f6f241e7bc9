import { describe, expect, it } from 'vitest';
import { constraintLimits, parseConstraints } from '../../../src/capability/constraint/constraints-spec.js';
import { resourceKinds } from '../../../src/capability/resource/resource.js';
import { codeOf, errorOf } from '../../support/capability/thrown-code.js';

describe('constraints', () => {
  it('are read into canonical spelling', () => {
    const input = {
      'a.b': { path: './src//**', optional: true },
      h: { all: [{ host: '*.Example.COM' }, { prefix: 'a' }] },
      n: { eq: null },
      '*': { any: true },
    };
    expect(parseConstraints(input, 'tool')).toEqual({
      'a.b': { path: 'src/**', optional: true },
      h: { all: [{ host: '*.example.com' }, { prefix: 'a' }] },
      n: { eq: null },
      '*': { any: true },
    });
  });

  it('may be an empty map, which accepts no argument', () => {
    expect(parseConstraints({}, 'net')).toEqual({});
  });

  it('are for the kinds whose use has arguments, and for no other', () => {
    const taken = resourceKinds.filter((kind) => {
      try {
        parseConstraints({}, kind);
        return true;
      } catch {
        return false; // Refused, which the next expectation is about.
      }
    });
    expect(taken).toEqual(['tool', 'net', 'model', 'command']);
    expect(codeOf(() => parseConstraints({}, 'fs'))).toBe('INVALID_INPUT');
  });

  it.each([
    [null],
    [[]],
    ['any'],
    [{ a: null }],
    [{ a: {} }],
    [{ a: { optional: true } }],
    [{ a: { any: false } }],
    [{ a: { eq: 1, in: [1] } }],
    [{ a: { not: { eq: 1 } } }],
    [{ a: { toString: 1 } }],
    [{ a: { any: true, optional: false } }],
    [{ a: { any: true, closed: 1 } }],
    [{ a: { in: [] } }],
    [{ a: { in: 'abc' } }],
    [{ a: { range: [2, 1] } }],
    [{ a: { range: [1] } }],
    [{ a: { range: [1, 2, 3] } }],
    [{ a: { range: ['1', '2'] } }],
    [{ a: { range: [0, Number.POSITIVE_INFINITY] } }],
    [{ a: { length: [-1, 2] } }],
    [{ a: { length: [0, 1.5] } }],
    [{ a: { path: '/etc/**' } }],
    [{ a: { path: '../x' } }],
    [{ a: { path: 'foo*' } }],
    [{ a: { path: '' } }],
    [{ a: { host: 'a.*.com' } }],
    [{ a: { host: 'a.com/443' } }],
    [{ a: { cidr: '10.0.0.0' } }],
    [{ a: { cidr: '10.0.0.0/33' } }],
    [{ a: { cidr: '10.0.0.0/08' } }],
    [{ a: { cidr: '10.0.0.1/8' } }],
    [{ a: { cidr: '::ffff:10.0.0.0/104' } }],
    [{ a: { cidr: 'example.com/8' } }],
    [{ a: { prefix: 1 } }],
    [{ a: { subset: {} } }],
    [{ a: { hash: 'A'.repeat(64) } }],
    [{ a: { hash: 'ab' } }],
    [{ a: { all: [] } }],
    [{ a: { all: [{ eq: 1, optional: true }] } }],
    [{ '': { any: true } }],
    [{ 'a..b': { any: true } }],
    [{ 'a.': { any: true } }],
    [{ 'a.*': { any: true } }],
    [{ '*': { eq: 1 } }],
    [{ '*': { any: true, optional: true } }],
    [{ ['a'.repeat(257)]: { any: true } }],
  ])('%j are refused', (input) => {
    expect(codeOf(() => parseConstraints(input, 'tool'))).toBe('INVALID_INPUT');
  });

  it('name the path that is wrong', () => {
    expect(errorOf(() => parseConstraints({ 'a.b': { range: [2, 1] } }, 'tool')).facts).toMatchObject({
      path: 'constraints.a.b.range',
    });
  });

  it('say how a block of addresses is spelled', () => {
    expect(errorOf(() => parseConstraints({ a: { cidr: '10.0.0.1/8' } }, 'tool')).hint).toBe(
      'Write it as "10.0.0.0/8".',
    );
  });

  const paths = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, { any: true }]));
  const joined = (count: number) => ({ a: { all: Array.from({ length: count }, (_, n) => ({ range: [0, n] })) } });
  const nested = (depth: number): object => (depth === 0 ? { any: true } : { all: [nested(depth - 1)] });

  it.each([
    ['paths', paths(constraintLimits.paths), paths(constraintLimits.paths + 1)],
    ['atoms', joined(constraintLimits.atoms - 1), joined(constraintLimits.atoms)],
    ['bytes', { a: { eq: 'x'.repeat(65_000) } }, { a: { eq: 'x'.repeat(66_000) } }],
    ['nesting', { a: nested(6) }, { a: nested(20) }],
    ['members', { a: { in: new Array(10_000).fill(0) } }, { a: { in: new Array(40_000).fill(0) } }],
  ])('are bounded in %s', (_, fits, tooMuch) => {
    expect(parseConstraints(fits, 'tool')).toEqual(fits);
    expect(codeOf(() => parseConstraints(tooMuch, 'tool'))).toBe('INVALID_INPUT');
  });
});
