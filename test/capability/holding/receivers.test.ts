import { describe, expect, it } from 'vitest';
import type { Pid } from '../../../src/index.js';
import { type GiverFixture, giverFixture } from '../../support/capability/derivation-paths.js';
import { callSearch, search } from '../../support/capability/two-roots.js';
import { checkInvariants } from '../../support/invariants.js';

const noSearch = { resource: 'tool:search', rights: ['call'] } as const;
const onward = { ...callSearch, delegable: true } as const;

async function idOn({ kernel }: GiverFixture, holder: Pid, resource: string): Promise<string> {
  const held = await kernel.capabilities.list(holder, { status: 'any' });
  return held.find((one) => one.resource === resource)?.id ?? '';
}

describe.each(['deny', 'ask'] as const)('what a rule to %s binds', (effect) => {
  /** A giver under the rule, which may also send to the stranger. */
  async function bound(resource = 'tool:search'): Promise<GiverFixture & { readonly rule: string }> {
    const set = await giverFixture(
      { resource, rights: ['call'], delegable: true },
      { resource: 'tool:mail', rights: ['call'], delegable: true },
      { resource: 'process:*', rights: ['send'] },
    );
    const { id: rule } = await set.kernel.capabilities[effect](set.giver, noSearch);
    return { ...set, rule };
  }

  it('is not delegated to one that it does not bind, and the host learns by which rule', async () => {
    const { kernel, giver, stranger, refused, rule } = await bound();
    const facts = { pid: giver, right: 'grant', resource: 'tool:search', code: 'DENY_RULE' };
    expect(await refused(() => kernel.capabilities.delegate(giver, stranger, callSearch))).toEqual({
      code: 'CAPABILITY_DENIED',
      facts: { ...facts, denies: [rule] },
    });
    expect(await refused(() => kernel.as(giver).capabilities.delegate(stranger, callSearch))).toEqual({
      code: 'CAPABILITY_DENIED',
      facts,
    });
  });

  it('is not transferred to one that it does not bind', async () => {
    const set = await bound();
    const { kernel, giver, stranger, refused, rule } = set;
    const id = await idOn(set, giver, 'tool:search');
    expect(await refused(() => kernel.capabilities.transfer(giver, stranger, id))).toEqual({
      code: 'CAPABILITY_DENIED',
      facts: { pid: giver, right: 'grant', resource: 'tool:search', code: 'DENY_RULE', denies: [rule] },
    });
  });

  it.each(['tool:*', 'tool:**'])(
    'is not given as a part of %s either, nor the right to hand it on',
    async (resource) => {
      const set = await bound(resource);
      const { kernel, giver, stranger, refused } = set;
      const denied = { code: 'CAPABILITY_DENIED', facts: { right: 'grant', resource, code: 'DENY_RULE' } };
      for (const spec of [
        { resource, rights: ['call'] },
        { resource, rights: ['grant'], grantable: ['call'] },
      ] as const) {
        expect(await refused(() => kernel.capabilities.delegate(giver, stranger, spec))).toMatchObject(denied);
      }
      const id = await idOn(set, giver, resource);
      expect(await refused(() => kernel.capabilities.transfer(giver, stranger, id))).toMatchObject(denied);
    },
  );

  it('is not given by one spawned under it, also when that has another parent now', async () => {
    const { kernel, giver, stranger, refused } = await bound();
    const below = await kernel.processes.spawnChild(giver, {
      image: 'worker',
      onParentExit: 'detach',
      delegate: [onward],
    });
    expect((await refused(() => kernel.capabilities.delegate(below, stranger, callSearch))).code).toBe(
      'CAPABILITY_DENIED',
    );
    await kernel.processes.exit(giver);
    await kernel.capabilities.grant(below, search);
    expect((await refused(() => kernel.capabilities.delegate(below, stranger, callSearch))).code).toBe(
      'CAPABILITY_DENIED',
    );
  });

  it('is given to those that it binds as well, and goes on binding them', async () => {
    const set = await bound();
    const { kernel, giver, child, path } = set;
    const forked = await kernel.as(giver).fork({ delegate: [callSearch] });
    const spawned = await kernel.processes.spawnChild(giver, { delegate: [onward] });
    await kernel.capabilities.delegate(spawned, child, callSearch);
    const codes = await Promise.all(
      [forked, spawned, child].map(async (pid) => (await kernel.capabilities.check(pid, 'call', 'tool:search')).code),
    );
    expect(new Set(codes)).toEqual(new Set([effect === 'deny' ? 'DENY_RULE' : 'ASK']));
    await checkInvariants(kernel, path);
  });

  it('leaves what it is not about alone, and ends with the rule', async () => {
    const { kernel, giver, stranger, rule } = await bound();
    const mail = { resource: 'tool:mail', rights: ['call'] } as const;
    expect((await kernel.as(giver).capabilities.delegate(stranger, mail)).holder).toBe(stranger);
    await kernel.capabilities.lift(rule);
    expect((await kernel.capabilities.delegate(giver, stranger, callSearch)).holder).toBe(stranger);
  });
});

describe('a receiver', () => {
  it('that has ended, is being stopped or never was gets nothing', async () => {
    const set = await giverFixture(search);
    const { kernel, giver, child, refused } = set;
    const [ended, id] = [await kernel.processes.spawnChild(giver, {}), await idOn(set, giver, 'tool:search')];
    await kernel.processes.exit(ended);
    await set.edit(child, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(child);
    const codes: Record<string, string[]> = {};
    for (const [who, to] of Object.entries({ ended, stopping: child, nobody: 'p_none' })) {
      codes[who] = [
        (await refused(() => kernel.capabilities.delegate(giver, to, callSearch))).code,
        (await refused(() => kernel.as(giver).capabilities.delegate(to, callSearch))).code,
        (await refused(() => kernel.capabilities.transfer(giver, to, id))).code,
      ];
    }
    expect(codes).toEqual({
      ended: ['PROCESS_TERMINATED', 'PROCESS_TERMINATED', 'PROCESS_TERMINATED'],
      stopping: ['TREE_STOPPING', 'TREE_STOPPING', 'TREE_STOPPING'],
      nobody: ['NO_SUCH_PROCESS', 'CAPABILITY_DENIED', 'NO_SUCH_PROCESS'],
    });
  });

  it('that the giver may not send to is out of its reach, whether it is there or not', async () => {
    const { kernel, giver, child, stranger, refused } = await giverFixture(search);
    const cousin = await kernel.processes.spawnChild(child, {});
    for (const to of [stranger, cousin, giver, 'p_none']) {
      expect(await refused(() => kernel.as(giver).capabilities.delegate(to, callSearch))).toEqual({
        code: 'CAPABILITY_DENIED',
        facts: { pid: giver, to, right: 'send', resource: `process:${to}` },
      });
    }
  });

  it('that gave it, holds one above it, or is the giver itself gets nothing back', async () => {
    const { kernel, giver, child, stranger, refused } = await giverFixture(search);
    await kernel.capabilities.delegate(giver, child, onward);
    await kernel.capabilities.delegate(child, stranger, onward);
    const back = [
      () => kernel.capabilities.delegate(child, giver, callSearch),
      () => kernel.as(child).capabilities.delegate(giver, callSearch),
      () => kernel.capabilities.delegate(stranger, giver, callSearch),
      () => kernel.capabilities.delegate(stranger, child, callSearch),
      () => kernel.capabilities.delegate(giver, giver, callSearch),
    ];
    for (const attempt of back) {
      expect(await refused(attempt)).toMatchObject({ code: 'AMPLIFICATION', facts: { field: 'to' } });
    }
  });

  it('that has given its own away since is still the giver of what came from it', async () => {
    const set = await giverFixture(search);
    const { kernel, giver, child, stranger, refused } = set;
    const given = await kernel.capabilities.delegate(giver, child, onward);
    await kernel.capabilities.transfer(giver, stranger, given.parent ?? '');
    for (const to of [giver, stranger]) {
      expect(await refused(() => kernel.capabilities.delegate(child, to, callSearch))).toMatchObject({
        code: 'AMPLIFICATION',
        facts: { field: 'to' },
      });
      expect(await refused(() => kernel.capabilities.transfer(child, to, given.id))).toMatchObject({
        code: 'AMPLIFICATION',
        facts: { field: 'to' },
      });
    }
  });

  it('that stands above one of two gets the other', async () => {
    const { kernel, giver, child, stranger } = await giverFixture(search);
    await kernel.capabilities.delegate(giver, child, onward);
    await kernel.capabilities.delegate(child, stranger, onward);
    const direct = await kernel.capabilities.grant(stranger, { ...search, uses: 1 });
    const given = await kernel.capabilities.delegate(stranger, child, callSearch);
    expect([given.parent, given.holder]).toEqual([direct.id, child]);
  });
});

describe('a transfer', () => {
  it('is refused at the last depth, where nothing can be handed on', async () => {
    const set = await giverFixture({ resource: 'fs:a', rights: ['read'], delegable: true, maxDepth: 0 });
    const { kernel, giver, stranger, refused } = set;
    const capability = await idOn(set, giver, 'fs:a');
    expect(await refused(() => kernel.capabilities.transfer(giver, stranger, capability))).toMatchObject({
      code: 'AMPLIFICATION',
      facts: { field: 'maxDepth', from: giver, capability },
    });
  });

  it('needs every right to be one that may be handed on', async () => {
    const set = await giverFixture(
      { resource: 'fs:a', rights: ['read'] },
      { resource: 'fs:b', rights: ['read', 'grant'] },
      { resource: 'fs:c', rights: ['read', 'write', 'grant'], grantable: ['read', 'grant'] },
      { resource: 'fs:d', rights: ['read'], delegable: true },
      { resource: 'fs:e', rights: ['read', 'grant'], grantable: ['read', 'write', 'grant'] },
    );
    const { kernel, giver, stranger, refused } = set;
    for (const resource of ['fs:a', 'fs:b', 'fs:c']) {
      const capability = await idOn(set, giver, resource);
      expect(await refused(() => kernel.capabilities.transfer(giver, stranger, capability))).toEqual({
        code: 'AMPLIFICATION',
        facts: { field: 'rights', from: giver, capability, resource },
      });
    }
    for (const resource of ['fs:d', 'fs:e']) {
      const id = await idOn(set, giver, resource);
      expect(await kernel.capabilities.transfer(giver, stranger, id)).toMatchObject({ id, holder: stranger });
    }
  });

  it('is refused for the capability on one’s own namespace, and for one to oneself', async () => {
    const set = await giverFixture(search);
    const { kernel, giver, stranger, refused } = set;
    const resource = `ns:process/${giver}/**`;
    const own = await idOn(set, giver, resource);
    expect(await refused(() => kernel.capabilities.transfer(giver, stranger, own))).toEqual({
      code: 'AMPLIFICATION',
      facts: { field: 'holder', from: giver, capability: own, resource },
    });
    const id = await idOn(set, giver, 'tool:search');
    expect(await refused(() => kernel.capabilities.transfer(giver, giver, id))).toEqual({
      code: 'AMPLIFICATION',
      facts: { field: 'to', from: giver, capability: id, resource: 'tool:search' },
    });
  });

  it('is refused for what somebody else holds, and for nothing, alike', async () => {
    const set = await giverFixture(search);
    const { kernel, giver, child, stranger, refused } = set;
    const others = [(await kernel.capabilities.grant(child, search)).id, 'c_none'];
    for (const capability of others) {
      expect(await refused(() => kernel.capabilities.transfer(giver, stranger, capability))).toEqual({
        code: 'NO_SUCH_CAPABILITY',
        facts: { capability },
      });
    }
  });

  it('is refused for what is dead, with what it died of', async () => {
    const set = await giverFixture(
      { ...search, resource: 'tool:revoked' },
      { ...search, resource: 'tool:expired', expiresAt: Date.UTC(2030, 0, 2) },
      { ...search, resource: 'tool:spent', uses: 1 },
    );
    const { kernel, giver, stranger, refused } = set;
    await kernel.capabilities.revoke(await idOn(set, giver, 'tool:revoked'));
    await kernel.capabilities.require(giver, 'call', 'tool:spent');
    set.clock.advance(24 * 3_600_000);
    for (const [status, code] of [
      ['revoked', 'CAPABILITY_REVOKED'],
      ['expired', 'CAPABILITY_EXPIRED'],
      ['spent', 'CAPABILITY_DENIED'],
    ] as const) {
      const capability = await idOn(set, giver, `tool:${status}`);
      expect(await refused(() => kernel.capabilities.transfer(giver, stranger, capability))).toEqual({
        code,
        facts: { capability, pid: giver, resource: `tool:${status}`, status },
      });
    }
  });

  it('is refused to a giver that has ended or is being stopped', async () => {
    const set = await giverFixture(search);
    const { kernel, giver, stranger, refused, edit } = set;
    const id = await idOn(set, giver, 'tool:search');
    await edit(giver, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(giver);
    expect((await refused(() => kernel.capabilities.transfer(giver, stranger, id))).code).toBe('TREE_STOPPING');
    await kernel.processes.kill(giver);
    expect((await refused(() => kernel.capabilities.transfer(giver, stranger, id))).code).toBe('PROCESS_TERMINATED');
  });
});
