import { describe, expect, it } from 'vitest';
import { parseSpec } from '../../../src/base/spec.js';
import type { Authority } from '../../../src/capability/holding/capability.js';
import {
  capabilitySpec,
  delegationSpec,
  parseCapabilitySpecs,
  parseDelegationSpecs,
  type StatedAuthority,
} from '../../../src/capability/holding/capability-spec.js';
import { codeOf, errorOf } from '../../support/capability/thrown-code.js';

const grant = (input: unknown) => parseCapabilitySpecs(parseSpec(capabilitySpec, input, 'spec'))[0] as Authority;
const delegation = (input: unknown) =>
  parseDelegationSpecs(parseSpec(delegationSpec, input, 'spec'))[0] as StatedAuthority;

describe('a capability spec', () => {
  it('is read into canonical form, with the default depth', () => {
    const { pattern, ...rest } = grant({ resource: 'fs:./src//**', rights: ['write', 'read', 'read'] });
    expect({ resource: pattern.text, ...rest }).toEqual({
      resource: 'fs:src/**',
      rights: ['read', 'write'],
      grantable: [],
      delegable: false,
      maxDepth: 16,
    });
  });

  it('keeps every field that is stated', () => {
    const constraints = { path: { prefix: 'a' } };
    const stated = { constraints, uses: 3, expiresAt: 1000, maxDepth: 0 };
    expect(grant({ resource: 'tool:x', rights: ['call'], ...stated })).toMatchObject(stated);
  });

  it.each([
    [{ rights: ['read'] }, ['read'], [], false],
    [{ rights: ['read'], delegable: false, grantable: [] }, ['read'], [], false],
    [{ rights: ['read'], delegable: true }, ['read', 'grant'], ['read', 'grant'], true],
    [{ rights: ['read', 'grant'], delegable: true }, ['read', 'grant'], ['read', 'grant'], true],
    [{ rights: ['read', 'grant'] }, ['read', 'grant'], ['read'], true],
    [{ rights: ['grant'], grantable: ['write', 'read'] }, ['grant'], ['read', 'write'], true],
    [{ rights: ['read'], delegable: true, grantable: ['read'] }, ['read', 'grant'], ['read'], true],
  ])('%j gives the rights %j and makes %j grantable', (fields, rights, grantable, delegable) => {
    expect(grant({ resource: 'fs:**', ...fields })).toMatchObject({ rights, grantable, delegable });
  });

  it.each([
    [{ rights: [] }],
    [{ rights: ['call'] }],
    [{ rights: ['fly'] }],
    [{ rights: 'read' }],
    [{ rights: ['grant'] }],
    [{ rights: ['grant'], delegable: true }],
    [{ rights: ['read'], grantable: ['read'] }],
    [{ rights: ['read', 'grant'], grantable: [] }],
    [{ rights: ['read', 'grant'], grantable: ['call'] }],
    [{ rights: ['read'], delegable: 'yes' }],
    [{ rights: ['read'], uses: 0 }],
    [{ rights: ['read'], uses: -1 }],
    [{ rights: ['read'], uses: 0.5 }],
    [{ rights: ['read'], uses: '5' }],
    [{ rights: ['read'], uses: 2 ** 63 }],
    [{ rights: ['read'], uses: Number.NaN }],
    [{ rights: ['read'], expiresAt: 1.5 }],
    [{ rights: ['read'], expiresAt: 1e308 }],
    [{ rights: ['read'], maxDepth: 65 }],
    [{ rights: ['read'], maxDepth: -1 }],
    [{ rights: ['read'], constraints: {} }],
    [{ rights: ['read'], from: 'c_1' }],
    [{ rights: ['read'], expires: 1 }],
    [{ rights: ['read'], resource: '*:*' }],
    [{ rights: ['read'], resource: 1 }],
  ])('with %j is refused', (fields) => {
    expect(codeOf(() => grant({ resource: 'fs:**', ...fields }))).toBe('INVALID_INPUT');
  });

  it('names the field that is wrong', () => {
    const input = { resource: 'tool:x', rights: ['call'], constraints: { a: { range: [1, 0] } } };
    expect(errorOf(() => grant(input)).facts).toMatchObject({ path: 'spec.constraints.a.range' });
  });
});

describe('a delegation spec', () => {
  it('leaves out what it does not state', () => {
    const { pattern, ...rest } = delegation({ resource: 'tool:x', rights: ['call'], uses: undefined });
    expect({ resource: pattern.text, ...rest }).toEqual({
      resource: 'tool:x',
      rights: ['call'],
      grantable: [],
      delegable: false,
    });
  });

  it('may name the capability that it comes from', () => {
    expect(delegation({ resource: 'tool:x', rights: ['call'], from: 'c_1' })).toMatchObject({ from: 'c_1' });
    expect(codeOf(() => delegation({ resource: 'tool:x', rights: ['call'], from: '' }))).toBe('INVALID_INPUT');
  });
});
