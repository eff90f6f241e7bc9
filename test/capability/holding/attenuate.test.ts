import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accepts } from '../../../src/capability/constraint/constraints.js';
import { type Amplification, attenuate, type DerivedAuthority } from '../../../src/capability/holding/attenuate.js';
import type { DelegationSpec } from '../../../src/capability/holding/capability.js';
import { parseCapabilitySpec, parseDelegationSpec } from '../../../src/capability/holding/capability-spec.js';
import { covers, matches, parseRequest } from '../../../src/capability/resource/resource.js';
import { rightsBeyond } from '../../../src/capability/resource/rights.js';
import { args, constraints, near } from '../../support/capability/arbitrary-constraints.js';

type How = 'delegate' | 'derive';

const root = (spec: DelegationSpec, depth = 0): DerivedAuthority => ({ ...parseCapabilitySpec(spec), depth });
const from = (parent: DerivedAuthority, spec: DelegationSpec, how: How) =>
  attenuate(parent, parseDelegationSpec(spec), how);
const isRefused = (result: DerivedAuthority | Amplification): result is Amplification => 'exceeded' in result;

describe('a derived capability', () => {
  const parent = root({
    resource: 'tool:mcp/**',
    rights: ['call'],
    delegable: true,
    constraints: { n: { range: [0, 9] } },
    uses: 5,
    expiresAt: 1000,
    maxDepth: 3,
  });

  it.each<How>(['delegate', 'derive'])('inherits what is not stated when it is made by %s', (how) => {
    expect(from(parent, { resource: 'tool:mcp/x', rights: ['call'] }, how)).toEqual({
      ...parent,
      pattern: parseCapabilitySpec({ resource: 'tool:mcp/x', rights: ['call'] }).pattern,
      rights: ['call'],
      grantable: [],
      delegable: false,
      depth: 1,
    });
  });

  it.each<How>(['delegate', 'derive'])('has what is stated when it is made by %s', (how) => {
    const stated = { constraints: { n: { range: [1, 5] } }, uses: 5, expiresAt: 999, maxDepth: 1 } as const;
    expect(from(parent, { resource: 'tool:mcp/**', rights: ['call'], delegable: true, ...stated }, how)).toEqual({
      ...parent,
      ...stated,
      constraints: { n: { all: [{ range: [0, 9] }, { range: [1, 5] }] } },
      depth: 1,
    });
  });

  it.each<[keyof DelegationSpec, Partial<DelegationSpec>]>([
    ['resource', { resource: 'tool:**' }],
    ['resource', { resource: 'tool:mcp2' }],
    ['resource', { resource: 'command:mcp', constraints: {} }],
    ['constraints', { constraints: { n: { range: [0, 10] } } }],
    ['constraints', { constraints: {} }],
    ['constraints', { constraints: { n: { range: [0, 9] }, '*': { any: true } } }],
    ['constraints', { constraints: { n: { range: [0, 9], optional: true } } }],
    ['constraints', { constraints: { n: { range: [0, 9] }, m: { any: true } } }],
    ['expiresAt', { expiresAt: 1001 }],
    ['uses', { uses: 6 }],
    ['maxDepth', { maxDepth: 4 }],
    ['maxDepth', { maxDepth: 0 }],
  ])('that is wider in %s is refused: %j', (field, wider) => {
    const spec = { resource: 'tool:mcp/x', rights: ['call'] as const, ...wider };
    const results = (['delegate', 'derive'] as const).map((how) => from(parent, spec, how));
    expect(results).toMatchObject([{ exceeded: field }, { exceeded: field }]);
  });

  it('may not lie deeper than the chain may become', () => {
    const spec = { resource: 'tool:mcp/x', rights: ['call'] as const };
    expect(from({ ...parent, depth: 2 }, spec, 'delegate')).toMatchObject({ depth: 3 });
    expect(from({ ...parent, depth: 3 }, spec, 'delegate')).toMatchObject({ exceeded: 'maxDepth' });
  });

  it('is refused when its joined constraints would become too large', () => {
    const tool = { resource: 'tool:x', rights: ['call'] as const };
    const items = (from: number) => Array.from({ length: 700 }, (_, n) => `${from + n}`.padStart(60, '0'));
    const wide = root({ ...tool, delegable: true, constraints: { a: { subset: items(0) } } });
    const narrow = { ...tool, constraints: { a: { subset: items(0).slice(0, 690) } } };
    expect(from(wide, narrow, 'derive')).toMatchObject({ exceeded: 'constraints' });
  });
});

describe('rights', () => {
  it.each<[How, Partial<DelegationSpec>, Partial<DelegationSpec>, true | string]>([
    ['delegate', { rights: ['read'], delegable: true }, { rights: ['read'] }, true],
    ['delegate', { rights: ['read'], delegable: true }, { rights: ['read'], delegable: true }, true],
    ['delegate', { rights: ['read'] }, { rights: ['read'] }, 'rights'],
    ['delegate', { rights: ['read'], delegable: true }, { rights: ['write'] }, 'rights'],
    ['delegate', { rights: ['read', 'grant'] }, { rights: ['read'] }, true],
    ['delegate', { rights: ['read', 'grant'] }, { rights: ['read'], delegable: true }, 'delegable'],
    ['delegate', { rights: ['read', 'grant'] }, { rights: ['read', 'grant'] }, 'rights'],
    ['delegate', { rights: ['grant'], grantable: ['read'] }, { rights: ['read'] }, true],
    ['delegate', { rights: ['read', 'grant'], grantable: ['write'] }, { rights: ['read'] }, 'rights'],
    [
      'delegate',
      { rights: ['grant'], grantable: ['read', 'grant'] },
      { rights: ['read', 'grant'], grantable: ['read', 'write'] },
      'grantable',
    ],
    ['derive', { rights: ['read', 'write'] }, { rights: ['read'] }, true],
    ['derive', { rights: ['read'] }, { rights: ['write'] }, 'rights'],
    ['derive', { rights: ['read'] }, { rights: ['read'], delegable: true }, 'delegable'],
    ['derive', { rights: ['grant'], grantable: ['read'] }, { rights: ['read'] }, 'rights'],
    ['derive', { rights: ['read', 'write', 'grant'], grantable: ['read'] }, { rights: ['write'] }, true],
    [
      'derive',
      { rights: ['read', 'grant'], grantable: ['read'] },
      { rights: ['read', 'grant'], grantable: ['write'] },
      'grantable',
    ],
  ])('to %s from %j to %j: %s', (how, parent, child, expected) => {
    const rights = ['read'] as const;
    const result = from(root({ resource: 'fs:**', rights, ...parent }), { resource: 'fs:a', rights, ...child }, how);
    expect(isRefused(result) ? result.exceeded : true).toBe(expected);
  });
});

it('without the right to grant nothing is handed on, whatever is grantable', () => {
  const parent = root({ resource: 'fs:**', rights: ['read'], delegable: true });
  expect(from({ ...parent, rights: ['read'] }, { resource: 'fs:a', rights: ['read'] }, 'delegate')).toEqual({
    exceeded: 'rights',
    detail: 'the right "grant" is not there',
  });
});

describe('attenuation', () => {
  const right = fc.constantFrom('call' as const, 'grant' as const);
  const numbers = {
    uses: fc.integer({ min: 1, max: 4 }),
    expiresAt: fc.integer({ min: 1, max: 4 }),
    maxDepth: fc.integer({ min: 0, max: 4 }),
  };
  const fields = {
    resource: fc.constantFrom('tool:**', 'tool:a/**', 'tool:a/*', 'tool:*/b', 'tool:a/b', 'tool:a'),
    rights: fc.uniqueArray(right, { minLength: 1 }),
    delegable: fc.boolean(),
    grantable: fc.uniqueArray(right, { minLength: 1 }),
    ...numbers,
  };
  const spec = (own: typeof constraints): fc.Arbitrary<DelegationSpec> =>
    fc
      .record({ ...fields, constraints: own }, { requiredKeys: ['resource', 'rights'] })
      .map(({ grantable, ...rest }) => ({
        ...rest,
        ...(grantable !== undefined && (rest.rights.includes('grant') || rest.delegable) ? { grantable } : {}),
      }))
      .filter((given) => given.grantable !== undefined || given.rights.includes('call'));
  const chain = spec(constraints).chain((above) =>
    fc.tuple(fc.constant(above), spec(above.constraints === undefined ? constraints : near(above.constraints))),
  );
  const requests = ['tool:a', 'tool:a/b', 'tool:c/b', 'tool:a/b/c', 'tool:z'].map(parseRequest);

  it.each<How>(['delegate', 'derive'])('by %s never widens any field', (how) => {
    let made = 0;
    fc.assert(
      fc.property(
        chain,
        fc.nat(3),
        fc.array(args, { minLength: 5, maxLength: 10 }),
        ([above, below], depth, values) => {
          const parent = root(above, depth);
          const child = from(parent, below, how);
          if (isRefused(child)) return;
          made++;
          const bound = how === 'delegate' ? parent.grantable : parent.rights;
          expect(rightsBeyond(child.rights, bound)).toEqual([]);
          expect(rightsBeyond(child.grantable, parent.grantable)).toEqual([]);
          expect(covers(parent.pattern, child.pattern)).toBe(true);
          for (const request of requests.filter((one) => matches(child.pattern, one))) {
            expect(matches(parent.pattern, request)).toBe(true);
          }
          for (const value of values.filter((one) => accepts(child.constraints, one).ok)) {
            expect(accepts(parent.constraints, value)).toEqual({ ok: true });
          }
          expect(child.uses ?? Infinity).toBeLessThanOrEqual(parent.uses ?? Infinity);
          expect(child.expiresAt ?? Infinity).toBeLessThanOrEqual(parent.expiresAt ?? Infinity);
          expect([child.maxDepth <= parent.maxDepth, child.depth <= child.maxDepth]).toEqual([true, true]);
          expect(child.depth).toBe(parent.depth + 1);
        },
      ),
      { numRuns: 3000 },
    );
    expect(made).toBeGreaterThan(50);
  });
});
