import { describe, expect, it } from 'vitest';
import type { CapabilitySpec, Constraints, DelegationSpec } from '../../../src/index.js';
import {
  type DerivationPath,
  derivationPaths,
  deriveBy,
  type GiverFixture,
  giverFixture,
  refusalsByPath,
} from '../../support/capability/derivation-paths.js';
import { checkInvariants } from '../../support/invariants.js';

/** Limited in every field. */
const whole = {
  resource: 'tool:db/*',
  rights: ['call', 'grant'],
  grantable: ['call'],
  constraints: { table: { in: ['a', 'b'] } },
  uses: 30,
  expiresAt: 4_000_000_000_000,
  maxDepth: 2,
} as const satisfies CapabilitySpec;
const within: DelegationSpec = { resource: 'tool:db/x', rights: ['call'] };

const handingOn: DerivationPath[] = derivationPaths.filter((way) => !way.startsWith('derive'));
const deriving: DerivationPath[] = derivationPaths.filter((way) => way.startsWith('derive'));

/** The same refusal for every derivation path, in the form of `refusalsByPath`. */
function each(answer: string, among: readonly DerivationPath[] = derivationPaths): Record<string, string> {
  return Object.fromEntries(among.map((way) => [way, answer]));
}

describe('a capability that comes from another one', () => {
  it('may be narrower in every field, whichever way it comes', async () => {
    const set = await giverFixture(whole);
    const narrower = {
      ...within,
      constraints: { table: { eq: 'a' } },
      uses: 1,
      expiresAt: whole.expiresAt - 1,
      maxDepth: 1,
    } as const;
    const { uses, expiresAt, maxDepth } = narrower;
    const limits = { resource: 'tool:db/x', rights: ['call'], delegable: false, uses, expiresAt, maxDepth, depth: 1 };
    for (const way of derivationPaths) expect([way, await deriveBy(set, way, narrower)]).toMatchObject([way, limits]);
    await checkInvariants(set.kernel, set.path);
  });

  it('has the limits that it does not state', async () => {
    const set = await giverFixture(whole);
    const { constraints, uses, expiresAt, maxDepth } = whole;
    // The types do not let undefined in; JavaScript does.
    const open = { ...within, constraints: undefined, uses: undefined, expiresAt: undefined, maxDepth: undefined };
    for (const spec of [within, open as unknown as DelegationSpec]) {
      for (const way of derivationPaths) {
        expect([way, await deriveBy(set, way, spec)]).toMatchObject([way, { constraints, uses, expiresAt, maxDepth }]);
      }
    }
  });

  it('is refused with a wider pattern', async () => {
    const set = await giverFixture(whole);
    for (const resource of ['tool:db/**', 'tool:*/x', 'tool:*', 'tool:**', 'tool:db', 'tool:db2/x', 'tool:db/x/y']) {
      expect([resource, await refusalsByPath(set, { ...within, resource })]).toEqual([
        resource,
        each('AMPLIFICATION resource'),
      ]);
    }
  });

  it('is refused with another kind', async () => {
    const set = await giverFixture(whole);
    for (const resource of ['command:db/x', 'model:db/x']) {
      expect([resource, await refusalsByPath(set, { ...within, resource })]).toEqual([
        resource,
        each('AMPLIFICATION resource'),
      ]);
    }
  });

  it('is refused with a right that is not there', async () => {
    const set = await giverFixture({ resource: 'fs:a/**', rights: ['read', 'list'], delegable: true });
    for (const rights of [['write'], ['read', 'write'], ['read', 'list', 'delete']] as const) {
      expect(await refusalsByPath(set, { resource: 'fs:a/b', rights })).toEqual(each('AMPLIFICATION rights'));
    }
  });

  it('is refused with a right that may be handed on and not used, where it is derived', async () => {
    const set = await giverFixture({ resource: 'fs:a/**', rights: ['list', 'grant'], grantable: ['read'] });
    const spec = { resource: 'fs:a/b', rights: ['read'] } as const;
    expect(await refusalsByPath(set, spec, deriving)).toEqual(each('AMPLIFICATION rights', deriving));
    for (const way of handingOn)
      expect([way, await deriveBy(set, way, spec)]).toMatchObject([way, { rights: ['read'] }]);
  });

  it('is refused with a right that may be used and not handed on, where it is handed on', async () => {
    const set = await giverFixture({ resource: 'fs:a/**', rights: ['list', 'grant'], grantable: ['read'] });
    const spec = { resource: 'fs:a/b', rights: ['list'] } as const;
    expect(await refusalsByPath(set, spec, handingOn)).toEqual(each('AMPLIFICATION rights', handingOn));
    for (const way of deriving)
      expect([way, await deriveBy(set, way, spec)]).toMatchObject([way, { rights: ['list'] }]);
  });

  it('is refused where nothing may be handed on', async () => {
    const set = await giverFixture({ resource: 'tool:db/*', rights: ['call'] });
    expect(await refusalsByPath(set, within, handingOn)).toEqual(each('AMPLIFICATION rights', handingOn));
    expect(await refusalsByPath(set, { ...within, delegable: true })).toEqual({
      ...each('AMPLIFICATION rights', handingOn),
      ...each('AMPLIFICATION delegable', deriving),
    });
  });

  it('is refused with the right to hand on further, where that may not be handed on', async () => {
    const set = await giverFixture(whole);
    expect(await refusalsByPath(set, { ...within, delegable: true })).toEqual({
      ...each('AMPLIFICATION delegable', handingOn),
      ...each('AMPLIFICATION grantable', deriving),
    });
    const bare = { ...within, rights: ['grant'], grantable: ['call'] } as const;
    expect(await refusalsByPath(set, bare, handingOn)).toEqual(each('AMPLIFICATION rights', handingOn));
    for (const way of deriving)
      expect([way, await deriveBy(set, way, bare)]).toMatchObject([way, { rights: ['grant'] }]);
  });

  it('is refused with more to hand on than there is, which the host alone can grant beside what may be used', async () => {
    const held = { resource: 'fs:a/**', rights: ['read', 'grant'], grantable: ['read', 'write', 'grant'] } as const;
    const set = await giverFixture(held);
    const spec = { resource: 'fs:a/b', rights: ['read', 'grant'], grantable: ['read', 'write', 'delete'] } as const;
    expect(await refusalsByPath(set, spec)).toEqual(each('AMPLIFICATION grantable'));
    const grantable = ['read', 'write'] as const;
    for (const way of derivationPaths) {
      expect([way, await deriveBy(set, way, { ...spec, grantable })]).toMatchObject([
        way,
        { grantable: [...grantable] },
      ]);
    }
  });

  it('is refused with a later expiry', async () => {
    const spec = { ...within, expiresAt: whole.expiresAt + 1 };
    expect(await refusalsByPath(await giverFixture(whole), spec)).toEqual(each('AMPLIFICATION expiresAt'));
  });

  it('is refused with more uses', async () => {
    expect(await refusalsByPath(await giverFixture(whole), { ...within, uses: 31 })).toEqual(
      each('AMPLIFICATION uses'),
    );
  });

  it('is refused with more uses than are left', async () => {
    const set = await giverFixture(whole);
    await set.kernel.capabilities.require(set.giver, 'call', 'tool:db/x', { table: 'a' });
    expect(await refusalsByPath(set, { ...within, uses: 30 })).toEqual(each('AMPLIFICATION uses'));
  });

  const dropped: Constraints[] = [
    {},
    { '*': { any: true } },
    { other: { in: ['a', 'b'] } },
    { table: { in: ['a', 'b'], optional: true } },
  ];
  const loosened: Constraints[] = [
    { table: { in: ['a', 'b', 'c'] } },
    { table: { prefix: '' } },
    { table: { any: true } },
    { table: { in: ['a'] }, other: { any: true } },
    { table: { in: ['a'] }, '*': { any: true } },
  ];

  it.each([
    ['dropped', dropped],
    ['loosened', loosened],
  ])('is refused with a constraint that is %s', async (_how, all) => {
    const set = await giverFixture(whole);
    for (const constraints of all) {
      const answer = await refusalsByPath(set, { ...within, constraints });
      expect([constraints, answer]).toEqual([constraints, each('AMPLIFICATION constraints')]);
    }
  });

  it('is refused with a larger depth, and one that it would not fit in', async () => {
    const set = await giverFixture(whole);
    for (const maxDepth of [3, 64, 0]) {
      expect(await refusalsByPath(set, { ...within, maxDepth })).toEqual(each('AMPLIFICATION maxDepth'));
    }
  });

  it('is refused at the end of its chain', async () => {
    const last = await giverFixture({ ...whole, maxDepth: 0 });
    expect(await refusalsByPath(last, within)).toEqual(each('AMPLIFICATION maxDepth'));
    const set = await giverFixture();
    const top = await set.kernel.processes.spawn({
      capabilities: [{ resource: 'tool:db/*', rights: ['call'], delegable: true, maxDepth: 1 }],
    });
    await set.kernel.capabilities.delegate(top, set.giver, { ...within, delegable: true });
    expect(await refusalsByPath(set, within)).toEqual(each('AMPLIFICATION maxDepth'));
  });

  it('is refused where only two together would do', async () => {
    const set = await giverFixture(
      { resource: 'fs:a/**', rights: ['read'], delegable: true },
      { resource: 'fs:a/**', rights: ['write'], delegable: true },
      { resource: 'fs:b/**', rights: ['read', 'write'], delegable: true },
    );
    expect(await refusalsByPath(set, { resource: 'fs:a/x', rights: ['read', 'write'] })).toEqual(
      each('AMPLIFICATION rights'),
    );
    expect(await refusalsByPath(set, { resource: 'fs:*/x', rights: ['read'] })).toEqual(each('AMPLIFICATION resource'));
  });

  it('is refused where nothing is held', async () => {
    expect(await refusalsByPath(await giverFixture(), within)).toEqual(each('AMPLIFICATION resource'));
  });

  it('is refused for all that a spawn hands down when one of it is wider', async () => {
    const { kernel, giver, refused } = await giverFixture(whole);
    const delegate = [within, { ...within, uses: 31 }];
    for (const born of [
      () => kernel.processes.spawnChild(giver, { delegate }),
      () => kernel.processes.fork(giver, { delegate }),
    ]) {
      expect(await refused(born)).toMatchObject({ code: 'AMPLIFICATION', facts: { field: 'uses' } });
    }
  });
});

describe('the source of a capability', () => {
  const idOf = async ({ kernel, giver }: GiverFixture) => {
    const held = await kernel.capabilities.list(giver, { status: 'any' });
    return held.find(({ resource }) => resource === whole.resource)?.id ?? '';
  };

  it('may not be somebody else’s, nor nobody’s, and both are answered alike', async () => {
    const set = await giverFixture(whole);
    const { kernel, child, stranger } = set;
    const others = [
      (await kernel.capabilities.grant(child, whole)).id,
      (await kernel.capabilities.grant(stranger, whole)).id,
      'c_none',
    ];
    for (const from of others) {
      expect(await refusalsByPath(set, { ...within, from })).toEqual(each('NO_SUCH_CAPABILITY'));
    }
  });

  it.each<[string, string, (set: GiverFixture) => Promise<unknown>]>([
    ['revoked', 'CAPABILITY_REVOKED', async (set) => set.kernel.capabilities.revoke(await idOf(set))],
    ['expired', 'CAPABILITY_EXPIRED', async (set) => set.clock.advance(whole.expiresAt)],
    [
      'spent',
      'CAPABILITY_DENIED',
      async ({ kernel, giver }) => kernel.capabilities.require(giver, 'call', 'tool:db/x', { table: 'a' }),
    ],
    [
      'of an earlier program',
      'CAPABILITY_REVOKED',
      async ({ kernel, giver }) => kernel.processes.exec(giver, { image: 'worker' }),
    ],
  ])('may not be %s, named or not', async (_how, code, end) => {
    const set = await giverFixture({ ...whole, uses: 1 });
    await end(set);
    expect(await refusalsByPath(set, { ...within, from: await idOf(set) })).toEqual(each(code));
    expect(await refusalsByPath(set, within)).toEqual(each('AMPLIFICATION status'));
  });

  it.each<[string, (set: GiverFixture, top: string) => Promise<unknown>]>([
    ['has ended', ({ kernel }, top) => kernel.processes.exit(top)],
    ['was killed', ({ kernel }, top) => kernel.processes.kill(top)],
    ['runs another program', ({ kernel }, top) => kernel.processes.exec(top, { image: 'worker' })],
  ])('may not come from one whose holder %s', async (_how, end) => {
    const set = await giverFixture();
    const top = await set.kernel.processes.spawn({
      image: 'worker',
      capabilities: [{ resource: 'tool:**', rights: ['call'], delegable: true }],
    });
    await set.kernel.capabilities.delegate(top, set.giver, {
      resource: 'tool:db/*',
      rights: ['call'],
      delegable: true,
    });
    await end(set, top);
    expect(await refusalsByPath(set, { ...within, from: await idOf(set) })).toEqual(each('CAPABILITY_REVOKED'));
    expect(await refusalsByPath(set, within)).toEqual(each('AMPLIFICATION status'));
  });

  it('may not lie with one that has ended', async () => {
    const set = await giverFixture(whole);
    await set.kernel.processes.exit(set.giver);
    expect(await refusalsByPath(set, within)).toEqual(each('PROCESS_TERMINATED'));
  });

  it('may not lie with one that is being stopped', async () => {
    const set = await giverFixture(whole);
    await set.edit(set.giver, { status: 'running', node: 'n_other' });
    await set.kernel.processes.cancel(set.giver);
    expect(await refusalsByPath(set, within)).toEqual(each('TREE_STOPPING'));
  });
});
