import { describe, expect, it } from 'vitest';
import { defineImage, type Kernel, type Pid } from '../../../src/index.js';
import { callSearch, codeFor, search, twoRoots } from '../../support/capability/two-roots.js';
import { checkInvariants } from '../../support/invariants.js';
import { kernelFixture, manualClock, worker } from '../../support/kernel-fixture.js';

const noTools = { resource: 'tool:**', rights: ['call'] } as const;
const other = defineImage({ name: 'team/other', run: async () => null });

describe('a deny rule', () => {
  it('wins over a narrower capability, whichever came first', async () => {
    const set = await twoRoots(search);
    const { kernel, giver } = set;
    const rule = await kernel.capabilities.deny(giver, { ...noTools, reason: 'audit' });
    expect(rule).toMatchObject({ effect: 'deny', pid: giver, resource: 'tool:**', rights: ['call'], reason: 'audit' });
    expect(await codeFor(set, giver)).toBe('DENY_RULE');
    await kernel.capabilities.grant(giver, callSearch);
    expect(await codeFor(set, giver)).toBe('DENY_RULE');
    expect((await set.refused(() => kernel.capabilities.require(giver, 'call', 'tool:search'))).code).toBe(
      'CAPABILITY_DENIED',
    );
    await kernel.capabilities.lift(rule.id, { reason: 'over' });
    expect(await codeFor(set, giver)).toBe('ALLOWED');
    expect(await kernel.capabilities.rules()).toEqual([]);
    const { items } = await kernel.audit.list({ target: giver });
    expect(items.map(({ action }) => action)).toEqual([
      'process.spawn',
      'capability.deny',
      'capability.grant',
      'capability.require',
      'capability.lift',
    ]);
    await checkInvariants(kernel, set.path);
  });

  it('touches no other resource, right or process', async () => {
    const set = await twoRoots(search, { resource: 'fs:a', rights: ['read', 'write'] });
    const { kernel, giver, taker } = set;
    await kernel.capabilities.deny(taker, noTools);
    await kernel.capabilities.deny(giver, { resource: 'fs:**', rights: ['write'] });
    expect(await codeFor(set, giver)).toBe('ALLOWED');
    expect((await kernel.capabilities.check(giver, 'read', 'fs:a')).code).toBe('ALLOWED');
    expect((await kernel.capabilities.check(giver, 'write', 'fs:a')).code).toBe('DENY_RULE');
  });

  it('for all binds every process, also those that come later', async () => {
    const set = await twoRoots(search);
    const { kernel, giver } = set;
    await kernel.capabilities.deny('*', callSearch);
    const later = await kernel.processes.spawn({ capabilities: [search] });
    expect([await codeFor(set, giver), await codeFor(set, later)]).toEqual(['DENY_RULE', 'DENY_RULE']);
    expect(await kernel.capabilities.rules('*')).toHaveLength(1);
    expect(await kernel.capabilities.rules(giver)).toEqual([]);
  });

  it('ends when it expires', async () => {
    const clock = manualClock();
    const set = await kernelFixture({ clock });
    const pid = await set.kernel.processes.spawn({ capabilities: [search] });
    await set.kernel.capabilities.deny(pid, { ...noTools, expiresAt: clock.now() + 1_000 });
    expect(await codeFor(set, pid)).toBe('DENY_RULE');
    clock.advance(1_000);
    expect(await codeFor(set, pid)).toBe('ALLOWED');
  });

  it('is refused for nobody and with a bad resource, and lifting needs a rule', async () => {
    const { kernel, giver, refused } = await twoRoots();
    expect((await refused(() => kernel.capabilities.deny('p_none', noTools))).code).toBe('NO_SUCH_PROCESS');
    const bad = { resource: 'tool:a*', rights: ['call'] } as const;
    expect((await refused(() => kernel.capabilities.deny(giver, bad))).code).toBe('INVALID_INPUT');
    expect((await refused(() => kernel.capabilities.lift('u_none'))).code).toBe('NO_SUCH_RULE');
  });

  it('forbids to read an object, and to move into a folder', async () => {
    const { kernel, refused } = await twoRoots();
    const root = await kernel.processes.spawn({
      image: 'worker',
      capabilities: [{ resource: 'fs:**', rights: ['read'] }],
    });
    const child = await kernel.processes.spawnChild(root, { image: 'base' });
    await kernel.processes.complete(child, { found: 1 });
    const { result } = await kernel.processes.wait(root, child);
    expect(await kernel.memory.read(root, result ?? '')).toMatchObject({ payload: { found: 1 } });
    await kernel.capabilities.deny(root, { resource: `object:${result?.id}`, rights: ['read'] });
    await kernel.capabilities.deny(root, { resource: 'fs:**', rights: ['read'] });
    expect((await refused(() => kernel.memory.read(root, result ?? ''))).code).toBe('NO_SUCH_OBJECT');
    expect((await refused(() => kernel.as(root).chdir('.'))).code).toBe('CAPABILITY_DENIED');
  });
});

describe('what a rule binds', () => {
  const below = { delegate: [callSearch] };

  async function bound(kernel: Kernel): Promise<{ top: Pid; middle: Pid }> {
    const top = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    const middle = await kernel.processes.spawnChild(top, {
      image: 'worker',
      delegate: [{ ...callSearch, delegable: true }],
    });
    await kernel.capabilities.deny(middle, noTools);
    return { top, middle };
  }

  it('are the children by spawn and by fork, and not the parent', async () => {
    const set = await kernelFixture();
    const { top, middle } = await bound(set.kernel);
    const spawned = await set.kernel.processes.spawnChild(middle, below);
    const forked = await set.kernel.processes.fork(spawned, {});
    await set.kernel.capabilities.grant(forked, callSearch);
    const codes = await Promise.all([top, middle, spawned, forked].map((pid) => codeFor(set, pid)));
    expect(codes).toEqual(['ALLOWED', 'DENY_RULE', 'DENY_RULE', 'DENY_RULE']);
  });

  it('stays bound after exec, and when its parent has ended', async () => {
    const set = await kernelFixture();
    const { kernel } = set;
    const { top, middle } = await bound(kernel);
    const moved = await kernel.processes.spawnChild(middle, { image: 'worker', onParentExit: 'reparent' });
    const detached = await kernel.processes.spawnChild(middle, { image: 'worker', onParentExit: 'detach' });
    await kernel.processes.exec(middle, { image: 'worker', preserveCapabilities: true });
    expect(await codeFor(set, middle)).toBe('DENY_RULE');
    await kernel.processes.exit(middle);
    expect((await kernel.processes.get(moved)).parent).toBe(top);
    expect((await kernel.processes.get(detached)).parent).toBe(null);
    for (const pid of [moved, detached]) {
      await kernel.capabilities.grant(pid, callSearch);
      expect(await codeFor(set, pid)).toBe('DENY_RULE');
    }
    await kernel.shutdown();
    expect(await codeFor(await kernelFixture({ store: set.path }), moved)).toBe('DENY_RULE');
  });

  it('cannot give what the rule is about to one that it does not bind', async () => {
    const { kernel, refused } = await kernelFixture();
    const { middle } = await bound(kernel);
    const stranger = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(middle, {});
    const [rule] = await kernel.capabilities.rules(middle);
    expect(await refused(() => kernel.capabilities.delegate(middle, stranger, callSearch))).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { code: 'DENY_RULE', denies: [rule?.id] },
    });
    const { id } = await kernel.capabilities.grant(middle, { ...search, resource: 'tool:*' });
    expect((await refused(() => kernel.capabilities.transfer(middle, stranger, id))).code).toBe('CAPABILITY_DENIED');
    expect(await kernel.capabilities.delegate(middle, child, callSearch)).toMatchObject({ holder: child });
    expect((await kernel.capabilities.check(child, 'call', 'tool:search')).code).toBe('DENY_RULE');
  });

  it('cannot give a namespace where a rule on an object of unknown place binds, and the other way round', async () => {
    const { kernel, giver, taker, refused } = await twoRoots(
      { resource: 'ns:team/**', rights: ['read'], delegable: true },
      { resource: 'object:o_1', rights: ['read'], delegable: true },
    );
    const give = (resource: string) => kernel.capabilities.delegate(giver, taker, { resource, rights: ['read'] });
    const onObject = await kernel.capabilities.deny(giver, { resource: 'object:o_2', rights: ['read'] });
    expect((await refused(() => give('ns:team/**'))).code).toBe('CAPABILITY_DENIED');
    expect((await give('object:o_1')).holder).toBe(taker);
    await kernel.capabilities.lift(onObject.id);
    await kernel.capabilities.deny(giver, { resource: 'ns:team/notes/**', rights: ['read'] });
    expect((await refused(() => give('object:o_1'))).code).toBe('CAPABILITY_DENIED');
  });

  it('may give to a stranger what the rule does not touch', async () => {
    const { kernel } = await kernelFixture();
    const { middle } = await bound(kernel);
    const stranger = await kernel.processes.spawn({});
    await kernel.capabilities.grant(middle, { resource: 'fs:a', rights: ['read'], delegable: true });
    const given = await kernel.capabilities.delegate(middle, stranger, { resource: 'fs:a', rights: ['read'] });
    expect(given.holder).toBe(stranger);
  });

  it('cannot hand on at all what a rule on grant is about, also not at a spawn', async () => {
    const { kernel, giver, taker, refused } = await twoRoots(search, { ...search, resource: 'tool:mail' });
    await kernel.capabilities.deny('*', { resource: 'tool:search', rights: ['grant'] });
    const denied = { code: 'CAPABILITY_DENIED', facts: { right: 'grant' } };
    expect(await refused(() => kernel.capabilities.delegate(giver, taker, callSearch))).toMatchObject(denied);
    expect(await refused(() => kernel.processes.spawnChild(giver, below))).toMatchObject(denied);
    const mail = { resource: 'tool:mail', rights: ['call'] } as const;
    expect(await kernel.processes.spawnChild(giver, { delegate: [mail] })).toBeDefined();
  });
});

describe('a rule on an image', () => {
  it('refuses spawnChild, fork and exec of it, and leaves others and the host alone', async () => {
    const { kernel, refused } = await kernelFixture({ images: [worker, other] });
    const root = await kernel.processes.spawn({ image: 'worker' });
    const forbidden = await kernel.processes.spawn({ image: 'team/other' });
    await kernel.capabilities.deny('*', { resource: 'image:team/**', rights: ['spawn'] });
    const image = 'team/other';
    const denied = { code: 'CAPABILITY_DENIED', facts: { right: 'spawn', resource: 'image:team/other' } };
    expect(await refused(() => kernel.processes.spawnChild(root, { image }))).toMatchObject(denied);
    expect(await refused(() => kernel.processes.fork(root, { image }))).toMatchObject(denied);
    expect(await refused(() => kernel.processes.fork(forbidden, {}))).toMatchObject(denied);
    expect(await refused(() => kernel.processes.exec(root, { image }))).toMatchObject(denied);
    await kernel.processes.spawnChild(root, { image: 'worker' });
    await kernel.processes.exec(root, { image: 'worker' });
    await kernel.processes.spawn({ image });
  });
});
