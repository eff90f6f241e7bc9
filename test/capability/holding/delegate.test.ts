import { describe, expect, it } from 'vitest';
import type { DelegationSpec } from '../../../src/index.js';
import { callSearch, codeFor, search, twoRoots } from '../../support/capability/two-roots.js';
import { checkInvariants } from '../../support/invariants.js';
import { eventsAfter, kernelFixture, lastSeq, manualClock } from '../../support/kernel-fixture.js';

describe('delegate', () => {
  it('hands on a narrower capability, with its event and its record', async () => {
    const set = await twoRoots({ ...search, resource: 'tool:**' });
    const { kernel, giver, taker } = set;
    const [parent] = (await kernel.capabilities.list(giver)).filter(({ resource }) => resource === 'tool:**');
    const before = await lastSeq(kernel);
    const capability = await kernel.capabilities.delegate(giver, taker, callSearch);
    expect(capability).toMatchObject({
      holder: taker,
      resource: 'tool:search',
      rights: ['call'],
      parent: parent?.id,
      depth: 1,
      status: 'live',
      grantedBy: giver,
    });
    expect(await codeFor(set, taker)).toBe('ALLOWED');
    expect(await eventsAfter(kernel, before)).toEqual([['capability.delegated', taker]]);
    const { items } = await kernel.audit.list({ action: 'capability.delegate' });
    expect(items).toMatchObject([{ actor: giver, target: taker, capability: capability.id, resource: 'tool:search' }]);
    await checkInvariants(kernel, set.path);
  });

  const whole = {
    resource: 'tool:db/*',
    rights: ['call', 'grant'],
    grantable: ['call'],
    constraints: { table: { in: ['a', 'b'] } },
    uses: 3,
    expiresAt: 4_000_000_000_000,
    maxDepth: 2,
  } as const;
  const within: DelegationSpec = { resource: 'tool:db/x', rights: ['call'] };

  it('takes what is narrower in every field', async () => {
    const { kernel, giver, taker } = await twoRoots(whole);
    const narrower = {
      ...within,
      constraints: { table: { eq: 'a' } },
      uses: 1,
      expiresAt: whole.expiresAt - 1,
      maxDepth: 1,
    };
    const given = await kernel.capabilities.delegate(giver, taker, narrower);
    expect(given).toMatchObject({ uses: 1, expiresAt: narrower.expiresAt, maxDepth: 1, status: 'live' });
    const codeOn = async (table: string) =>
      (await kernel.capabilities.check(taker, 'call', 'tool:db/x', { table })).code;
    expect([await codeOn('a'), await codeOn('b')]).toEqual(['ALLOWED', 'CONSTRAINT']);
  });

  it('derives from the capability that is named, and refuses one of somebody else or of nobody', async () => {
    const { kernel, giver, taker, refused } = await twoRoots(search, { ...search, resource: 'tool:**' });
    const held = await kernel.capabilities.list(giver);
    const from = held.find(({ resource }) => resource === 'tool:**')?.id ?? '';
    const given = await kernel.capabilities.delegate(giver, taker, { ...callSearch, delegable: true, from });
    expect(given.parent).toBe(from);
    for (const foreign of [given.id, 'c_none']) {
      const answer = await refused(() => kernel.capabilities.delegate(giver, taker, { ...callSearch, from: foreign }));
      expect(answer).toEqual({ code: 'NO_SUCH_CAPABILITY', facts: { capability: foreign } });
    }
  });

  it('refuses to derive from a dead capability, and says what it died of', async () => {
    const clock = manualClock();
    const { kernel, refused } = await kernelFixture({ clock });
    const dying = { ...search, resource: 'tool:old', expiresAt: clock.now() + 1 };
    const giver = await kernel.processes.spawn({ capabilities: [search, dying] });
    const taker = await kernel.processes.spawn({});
    clock.advance(1);
    const held = await kernel.capabilities.list(giver, { status: 'any' });
    const id = (name: string) => held.find(({ resource }) => resource === name)?.id ?? '';
    const old = { resource: 'tool:old', rights: ['call'] } as const;
    const named = { ...old, from: id('tool:old') };
    expect((await refused(() => kernel.capabilities.delegate(giver, taker, named))).code).toBe('CAPABILITY_EXPIRED');
    expect(await refused(() => kernel.capabilities.delegate(giver, taker, old))).toMatchObject({
      code: 'AMPLIFICATION',
      facts: { field: 'status' },
    });
    await kernel.capabilities.revoke(id('tool:search'));
    const revoked = { ...callSearch, from: id('tool:search') };
    expect((await refused(() => kernel.capabilities.delegate(giver, taker, revoked))).code).toBe('CAPABILITY_REVOKED');
  });

  it('refuses a giver or a receiver that is unknown, has ended or is being stopped', async () => {
    const { kernel, giver, taker, refused, edit } = await twoRoots(search);
    const attempt = (from: string, to: string) => refused(() => kernel.capabilities.delegate(from, to, callSearch));
    const ended = await kernel.processes.spawn({ capabilities: [search] });
    await kernel.processes.exit(ended);
    const stopping = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    await edit(stopping, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(stopping);
    for (const [pid, code] of [
      ['p_none', 'NO_SUCH_PROCESS'],
      [ended, 'PROCESS_TERMINATED'],
      [stopping, 'TREE_STOPPING'],
    ] as const) {
      expect((await attempt(pid, taker)).code).toBe(code);
      expect((await attempt(giver, pid)).code).toBe(code);
    }
  });
});

describe('derive', () => {
  it('makes a narrower copy for oneself, which dies with what it came from', async () => {
    const set = await twoRoots({ ...callSearch, resource: 'tool:**' });
    const { kernel, giver } = set;
    const copy = await kernel.capabilities.derive(giver, { ...callSearch, uses: 2 });
    expect(copy).toMatchObject({ holder: giver, uses: 2, depth: 1, delegable: false });
    await kernel.capabilities.revoke(copy.parent ?? '');
    expect((await kernel.capabilities.get(copy.id)).status).toBe('revoked');
    await checkInvariants(kernel, set.path);
  });
});

describe('transfer', () => {
  it('changes the holder, keeps the id, and leaves alone what was derived from it', async () => {
    const set = await twoRoots(search);
    const { kernel, giver, taker } = set;
    const third = await kernel.processes.spawn({});
    const given = await kernel.capabilities.delegate(giver, third, callSearch);
    const id = given.parent ?? '';
    expect(await kernel.capabilities.transfer(giver, taker, id)).toMatchObject({ id, holder: taker, status: 'live' });
    expect([await codeFor(set, giver), await codeFor(set, taker)]).toEqual(['NO_CAPABILITY', 'ALLOWED']);
    await kernel.processes.exit(giver);
    expect(await codeFor(set, third)).toBe('ALLOWED');
    await kernel.processes.exit(taker);
    expect(await codeFor(set, third)).toBe('REVOKED');
    const { items } = await kernel.audit.list({ action: 'capability.transfer' });
    expect(items).toMatchObject([{ actor: giver, target: taker, capability: id }]);
    await checkInvariants(kernel, set.path);
  });

  it('refuses what may not be handed on whole, what the giver does not hold, and its own namespace', async () => {
    const { kernel, giver, taker, refused } = await twoRoots(callSearch, { ...search, resource: 'tool:mail' });
    const held = await kernel.capabilities.list(giver);
    const id = (start: string) => held.find(({ resource }) => resource.startsWith(start))?.id ?? '';
    const attempt = (capability: string) => refused(() => kernel.capabilities.transfer(giver, taker, capability));
    expect(await attempt(id('tool:search'))).toMatchObject({ code: 'AMPLIFICATION', facts: { field: 'rights' } });
    expect(await attempt(id('ns:'))).toMatchObject({ code: 'AMPLIFICATION', facts: { field: 'holder' } });
    expect((await attempt('c_none')).code).toBe('NO_SUCH_CAPABILITY');
    await kernel.capabilities.transfer(giver, taker, id('tool:mail'));
    expect((await attempt(id('tool:mail'))).code).toBe('NO_SUCH_CAPABILITY');
  });

  it('refuses to give it back up its own chain', async () => {
    const { kernel, giver, taker, refused } = await twoRoots(search);
    const given = await kernel.capabilities.delegate(giver, taker, { ...callSearch, delegable: true });
    const answer = await refused(() => kernel.capabilities.transfer(taker, giver, given.id));
    expect(answer).toMatchObject({ code: 'AMPLIFICATION', facts: { field: 'to' } });
  });
});
