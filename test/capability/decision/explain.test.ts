import { describe, expect, it } from 'vitest';
import { callSearch, search, twoRoots } from '../../support/capability/two-roots.js';
import { kernelFixture, manualClock } from '../../support/kernel-fixture.js';

describe('explain', () => {
  it('names the rules that forbid it, and the call that would lift one', async () => {
    const { kernel, giver } = await twoRoots(search);
    const rule = await kernel.capabilities.deny('*', callSearch);
    const own = await kernel.capabilities.deny(giver, { resource: 'tool:**', rights: ['call'] });
    const explanation = await kernel.capabilities.explain(giver, 'call', 'tool:search');
    expect(explanation).toMatchObject({ effect: 'deny', code: 'DENY_RULE', denies: [rule.id, own.id] });
    expect(explanation.hint).toContain(`capabilities.lift('${rule.id}')`);
  });

  it('names near misses, of the same kind only, the nearest first', async () => {
    const { kernel, giver } = await twoRoots(
      { resource: 'fs:**', rights: ['read'] },
      { resource: 'tool:mail', rights: ['call'] },
      { ...callSearch, constraints: { q: { eq: 1 } } },
    );
    const { code, nearest, hint } = await kernel.capabilities.explain(giver, 'call', 'tool:search', { q: 2 });
    expect(code).toBe('CONSTRAINT');
    expect(nearest.map(({ pattern }) => pattern)).toEqual(['tool:search', 'tool:mail']);
    expect(nearest[0]?.failed).toMatch(/^q: /);
    expect(hint).toContain(nearest[0]?.capability);
  });

  it('gives a dead capability its own code, and a live one that fails at its arguments precedence', async () => {
    const clock = manualClock();
    const { kernel } = await kernelFixture({ clock });
    const giver = await kernel.processes.spawn({ capabilities: [callSearch] });
    const [, held] = await kernel.capabilities.list(giver);
    await kernel.capabilities.revoke(held?.id ?? '');
    expect((await kernel.capabilities.check(giver, 'call', 'tool:search')).code).toBe('REVOKED');
    await kernel.capabilities.grant(giver, { ...callSearch, expiresAt: clock.now() + 1 });
    clock.advance(1);
    expect((await kernel.capabilities.check(giver, 'call', 'tool:search')).code).toBe('EXPIRED');
    await kernel.capabilities.grant(giver, { ...callSearch, constraints: { q: { eq: 1 } } });
    expect((await kernel.capabilities.check(giver, 'call', 'tool:search', { q: 2 })).code).toBe('CONSTRAINT');
  });

  it('hints at a grant that would allow it', async () => {
    const { kernel, giver } = await twoRoots();
    const { hint } = await kernel.capabilities.explain(giver, 'call', 'tool:search');
    expect(hint).toContain(`capabilities.grant('${giver}', { resource: 'tool:search', rights: ['call'] })`);
    await kernel.capabilities.grant(giver, { resource: 'tool:search', rights: ['call'] });
    expect((await kernel.capabilities.check(giver, 'call', 'tool:search')).effect).toBe('allow');
  });

  /** It named a call that is refused: the right to hand on needs to be told what may be handed on. */
  it('hints at a grant that would allow it where the right to hand on is missing', async () => {
    const { kernel, giver } = await twoRoots();
    const { hint } = await kernel.capabilities.explain(giver, 'grant', 'secret:KEY');
    expect(hint).toContain(`{ resource: 'secret:KEY', rights: ['grant'], grantable: ['read'] }`);
    await kernel.capabilities.grant(giver, { resource: 'secret:KEY', rights: ['grant'], grantable: ['read'] });
    expect((await kernel.capabilities.check(giver, 'grant', 'secret:KEY')).effect).toBe('allow');
  });

  it('answers BAD_REQUEST and does not throw, whatever it is given', async () => {
    const { kernel, giver } = await twoRoots(search);
    for (const [right, resource, args] of [
      ['call', 'tool:*', {}],
      ['fly', 'tool:search', {}],
      ['call', 7, {}],
      [null, null, {}],
      [Symbol('s'), { toString: null }, {}],
      ['call', 'tool:search', { f: () => 1 }],
    ]) {
      const decision = await kernel.capabilities.check(giver, right as never, resource as never, args as never);
      expect(decision).toMatchObject({ effect: 'deny', code: 'BAD_REQUEST' });
    }
  });
});

describe('whoCan', () => {
  it('names the live processes that may, and not those that a rule, a revocation or an end stops', async () => {
    const { kernel, giver, taker } = await twoRoots({ ...search, constraints: { q: { eq: 1 } } });
    const given = await kernel.capabilities.delegate(giver, taker, callSearch);
    const ended = await kernel.processes.spawn({ capabilities: [callSearch] });
    await kernel.processes.exit(ended);
    const forbidden = await kernel.processes.spawn({ capabilities: [callSearch] });
    await kernel.capabilities.deny(forbidden, callSearch);
    expect(await kernel.capabilities.whoCan('call', 'tool:search')).toEqual([giver, taker]);
    await kernel.capabilities.revoke(given.id);
    expect(await kernel.capabilities.whoCan('call', 'tool:search')).toEqual([giver]);
    expect(await kernel.capabilities.whoCan('call', 'tool:mail')).toEqual([]);
  });

  it('knows kin', async () => {
    const { kernel, giver } = await twoRoots();
    const child = await kernel.processes.spawnChild(giver, {});
    const below = await kernel.processes.spawnChild(child, {});
    expect(await kernel.capabilities.whoCan('signal', `process:${child}`)).toEqual([giver]);
    expect(await kernel.capabilities.whoCan('send', `process:${child}`)).toEqual([giver, below].sort());
  });

  it('refuses a pattern', async () => {
    const { kernel, refused } = await twoRoots();
    expect((await refused(() => kernel.capabilities.whoCan('call', 'tool:*'))).code).toBe('INVALID_INPUT');
  });
});
