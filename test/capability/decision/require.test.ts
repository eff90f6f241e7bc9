import { describe, expect, it } from 'vitest';
import { callSearch, search, twoRoots } from '../../support/capability/two-roots.js';
import { checkInvariants } from '../../support/invariants.js';
import { eventsAfter, kernelFixture, lastSeq, manualClock } from '../../support/kernel-fixture.js';

describe('require', () => {
  it('answers with the decision, and is on record with the capability', async () => {
    const set = await twoRoots(search);
    const { kernel, giver } = set;
    const before = await lastSeq(kernel);
    const [, held] = await kernel.capabilities.list(giver);
    expect(await kernel.capabilities.require(giver, 'call', 'tool:search', { q: 1 })).toMatchObject({
      effect: 'allow',
      code: 'ALLOWED',
      capability: held?.id,
    });
    const { items } = await kernel.audit.list({ action: 'capability.require' });
    expect(items).toMatchObject([
      {
        actor: giver,
        outcome: 'ok',
        decision: 'allow',
        code: 'ALLOWED',
        right: 'call',
        resource: 'tool:search',
        capability: held?.id,
      },
    ]);
    expect(await eventsAfter(kernel, before)).toEqual([]);
    await checkInvariants(kernel, set.path);
  });

  it('refuses what is not held, with what explain says, and the refusal is on record', async () => {
    const { kernel, giver, refused } = await twoRoots(search);
    const answer = await refused(() => kernel.capabilities.require(giver, 'call', 'tool:mail'));
    const { nearest } = await kernel.capabilities.explain(giver, 'call', 'tool:mail');
    expect(answer).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { pid: giver, right: 'call', resource: 'tool:mail', code: 'NO_CAPABILITY', nearest },
    });
    const { items } = await kernel.audit.list({ outcome: 'refused' });
    expect(items).toMatchObject([{ actor: giver, code: 'CAPABILITY_DENIED', decision: 'deny', resource: 'tool:mail' }]);
  });

  it('refuses a bad request, an ended process and nobody', async () => {
    const { kernel, giver, refused } = await twoRoots(search);
    const codeOf = async (pid: string, resource: string) =>
      (await refused(() => kernel.capabilities.require(pid, 'call', resource))).code;
    expect(await codeOf(giver, 'tool:*')).toBe('INVALID_INPUT');
    expect(await codeOf('p_none', 'tool:search')).toBe('CAPABILITY_DENIED');
    await kernel.processes.exit(giver);
    expect(await codeOf(giver, 'tool:search')).toBe('CAPABILITY_DENIED');
  });

  it('says CAPABILITY_REVOKED or CAPABILITY_EXPIRED only where that alone was missing', async () => {
    const clock = manualClock();
    const { kernel, refused } = await kernelFixture({ clock });
    const constraints = { q: { eq: 1 } };
    const pid = await kernel.processes.spawn({
      capabilities: [
        { ...callSearch, expiresAt: clock.now() + 1_000, constraints },
        { resource: 'tool:mail', rights: ['call'], constraints },
      ],
    });
    const [, mail, late] = (await kernel.capabilities.list(pid)).map(({ id }) => id);
    await kernel.capabilities.revoke(mail ?? '');
    clock.advance(2_000);
    expect((await kernel.capabilities.get(late ?? '')).status).toBe('expired');
    const codeOf = async (resource: string, q: number) =>
      (await refused(() => kernel.capabilities.require(pid, 'call', resource, { q }))).code;
    expect(await codeOf('tool:search', 1)).toBe('CAPABILITY_EXPIRED');
    expect(await codeOf('tool:search', 2)).toBe('CAPABILITY_DENIED');
    expect(await codeOf('tool:mail', 1)).toBe('CAPABILITY_REVOKED');
    expect(await codeOf('tool:mail', 2)).toBe('CAPABILITY_DENIED');
  });
});

describe('finite uses', () => {
  it('of a one-use capability: of twenty at once exactly one succeeds', async () => {
    const { kernel, giver, path } = await twoRoots({ ...callSearch, uses: 1 });
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, () => kernel.capabilities.require(giver, 'call', 'tool:search')),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const reasons = all.flatMap((one) => (one.status === 'rejected' ? [one.reason.facts.code] : []));
    expect(new Set(reasons)).toEqual(new Set(['SPENT']));
    expect(await kernel.capabilities.list(giver, { status: 'any' })).toMatchObject([{}, { uses: 0, status: 'spent' }]);
    await checkInvariants(kernel, path);
  });

  it('count for every one above, so that handing on does not multiply them', async () => {
    const { kernel, giver, taker, path } = await twoRoots({ ...search, uses: 3 });
    const third = await kernel.processes.spawn({});
    const given = await kernel.capabilities.delegate(giver, taker, { ...callSearch, delegable: true });
    await kernel.capabilities.delegate(taker, third, callSearch);
    const use = (pid: string) =>
      kernel.capabilities.require(pid, 'call', 'tool:search').then(
        () => 'ok',
        ({ facts }) => facts.code,
      );
    const spent = [await use(third), await use(taker), await use(giver), await use(third), await use(taker)];
    expect(spent).toEqual(['ok', 'ok', 'ok', 'SPENT', 'SPENT']);
    const left = (await kernel.capabilities.chain(given.id)).map(({ uses }) => uses);
    expect(left).toEqual([1, 0]);
    await checkInvariants(kernel, path);
  });

  it('are kept where one without a limit does as well, and by a check', async () => {
    const { kernel, giver } = await twoRoots({ ...callSearch, uses: 1 }, { resource: 'tool:**', rights: ['call'] });
    for (let n = 0; n < 3; n++) await kernel.capabilities.require(giver, 'call', 'tool:search');
    await kernel.capabilities.check(giver, 'call', 'tool:search');
    const held = await kernel.capabilities.list(giver);
    expect(held.find(({ resource }) => resource === 'tool:search')?.uses).toBe(1);
  });
});
