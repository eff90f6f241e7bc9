import { describe, expect, it } from 'vitest';
import type { ObjectHandle } from '../../src/index.js';
import { trackCall, waitForPending } from '../support/capability/pending-approvals.js';
import { checkInvariants } from '../support/invariants.js';
import {
  type OwnerAndStranger,
  ownerAndStranger,
  refusalDetails,
  unknownId,
} from '../support/memory/owner-and-stranger.js';

interface NamespaceFixture extends OwnerAndStranger {
  readonly handle: ObjectHandle;
  /** The two resources that name the object. */
  readonly names: readonly [string, string];
}

/** An object in a namespace on which the owner has all rights. */
async function namespaceFixture(): Promise<NamespaceFixture> {
  const rights = ['create', 'read', 'write', 'delete', 'link', 'diff', 'materialize'] as const;
  const set = await ownerAndStranger({ resource: 'ns:team/**', rights: [...rights], delegable: true });
  const handle = await set.note({ n: 1 }, { namespace: 'team/a', name: 'n' });
  return { ...set, handle, names: [`object:${handle.id}`, `ns:team/a/${handle.id}`] };
}

describe('the two names of an object', () => {
  it('are each enough for an allow', async () => {
    for (const which of [0, 1] as const) {
      const { kernel, path, stranger, handle, names } = await namespaceFixture();
      expect(await refusalDetails(() => kernel.memory.read(stranger, handle))).toMatchObject({
        code: 'NO_SUCH_OBJECT',
      });
      const { id } = await kernel.capabilities.grant(stranger, { resource: names[which], rights: ['read', 'write'] });
      expect((await kernel.memory.read(stranger, handle)).payload).toEqual({ n: 1 });
      expect((await kernel.memory.update(stranger, handle, 2)).capability).toBe(id);
      await checkInvariants(kernel, path);
    }
  });

  it('are each enough for a deny, whatever is held on the other', async () => {
    for (const which of [0, 1] as const) {
      const { kernel, path, owner, stranger, handle, names, refused } = await namespaceFixture();
      for (const resource of names) await kernel.capabilities.grant(stranger, { resource, rights: ['read', 'write'] });
      const rule = await kernel.capabilities.deny('*', { resource: names[which], rights: ['read'] });
      for (const pid of [owner, stranger]) {
        for (const call of [
          () => kernel.memory.read(pid, handle),
          () => kernel.memory.history(pid, handle),
          () => kernel.memory.links(pid, handle),
          () => kernel.memory.lookup(pid, 'n', 'team/a'),
          () => kernel.memory.create(pid, { type: 'claim', payload: 1, sources: [handle] }),
        ]) {
          expect((await refused(call)).code).toBe('NO_SUCH_OBJECT');
        }
        expect((await kernel.memory.query(pid, { name: 'n' })).items).toEqual([]);
        await kernel.memory.update(pid, handle, pid);
      }
      await kernel.capabilities.lift(rule.id);
      expect((await kernel.memory.read(owner, handle)).payload).toBe(stranger);
      await checkInvariants(kernel, path);
    }
  });

  it('hide from a process whether it is a rule that forbids it', async () => {
    const { kernel, owner, handle, names } = await namespaceFixture();
    await kernel.capabilities.deny(owner, { resource: names[1], rights: ['read', 'write', 'delete'] });
    const face = kernel.as(owner).memory;
    for (const call of [
      (id: string) => face.read(id),
      (id: string) => face.update(id, 1),
      (id: string) => face.delete(id),
    ]) {
      expect(await refusalDetails(() => call(handle.id), handle.id)).toEqual(
        await refusalDetails(() => call(unknownId), unknownId),
      );
    }
  });
});

describe('a deny on sharing', () => {
  it('holds what it binds among those that it binds, by either name', async () => {
    for (const which of [0, 1] as const) {
      const { kernel, path, owner, stranger, handle, names, refused } = await namespaceFixture();
      const child = await kernel.processes.spawnChild(owner, {});
      await kernel.capabilities.deny(owner, { resource: names[which], rights: ['read'] });
      const give = (to: string) => kernel.memory.share(owner, to, handle, ['read']);
      expect(await refused(() => give(stranger))).toMatchObject({
        code: 'CAPABILITY_DENIED',
        facts: { pid: owner, right: 'grant', code: 'DENY_RULE' },
      });
      await give(child);
      expect((await refused(() => kernel.memory.read(child, handle))).code).toBe('NO_SUCH_OBJECT');
      await kernel.memory.share(owner, stranger, handle, ['write']);
      await checkInvariants(kernel, path);
    }
  });

  it('of the right to hand on forbids every share', async () => {
    const { kernel, owner, handle, names, refused } = await namespaceFixture();
    const child = await kernel.processes.spawnChild(owner, {});
    await kernel.capabilities.deny(owner, { resource: names[0], rights: ['grant'] });
    const call = () => kernel.memory.share(owner, child, handle, ['read']);
    expect(await refused(call)).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { right: 'grant' } });
  });
});

describe('a rule that asks', () => {
  it('parks the process that reads, and lets it go on with the answer', async () => {
    const { kernel, path, owner, handle, names } = await namespaceFixture();
    await kernel.capabilities.ask(owner, { resource: names[1], rights: ['read'] });
    const reading = trackCall(kernel.as(owner).memory.read(handle));
    const { id, pid, right, resource } = await waitForPending(kernel);
    expect({ pid, right, resource, state: reading.state }).toEqual({
      pid: owner,
      right: 'read',
      resource: names[0],
      state: 'waiting',
    });
    await kernel.approvals.answer(id, { decision: 'once', by: 'ann' });
    expect(await reading.done).toMatchObject({ payload: { n: 1 } });
    const again = trackCall(kernel.as(owner).memory.read(handle));
    await kernel.approvals.answer((await waitForPending(kernel)).id, { decision: 'deny', by: 'ann' });
    await again.done;
    expect(again.state).toBe('APPROVAL_DENIED');
    await checkInvariants(kernel, path);
  });

  it('is APPROVAL_PENDING on the host’s face, for each way to use the object', async () => {
    const { kernel, path, owner, handle, names } = await namespaceFixture();
    const child = await kernel.processes.spawnChild(owner, {});
    const rights = ['read', 'write', 'delete', 'link', 'diff', 'grant'] as const;
    await kernel.capabilities.ask(owner, { resource: names[0], rights: [...rights] });
    const other = await kernel.memory.create(owner, { type: 'claim', payload: 1 });
    const { memory } = kernel;
    const calls: [string, () => Promise<unknown>][] = [
      ['read', () => memory.read(owner, handle)],
      ['history', () => memory.history(owner, handle)],
      ['lookup', () => memory.lookup(owner, 'n', 'team/a')],
      ['links', () => memory.links(owner, handle)],
      ['link', () => memory.link(owner, handle, other, 'supports')],
      ['diff', () => memory.diff(owner, other, handle)],
      ['update', () => memory.update(owner, handle, { n: 2 })],
      ['share', () => memory.share(owner, child, handle, ['read'])],
      ['delete', () => memory.delete(owner, handle)],
    ];
    for (const [name, call] of calls) {
      expect([name, await refusalDetails(call)]).toMatchObject([name, { code: 'APPROVAL_PENDING', retryable: true }]);
      for (const { id } of await kernel.approvals.list())
        await kernel.approvals.answer(id, { decision: 'once', by: 'ann' });
      await call();
    }
    await checkInvariants(kernel, path);
  });

  it('leaves what is asked about out of lists, and asks nobody', async () => {
    const { kernel, owner, note, handle, names } = await namespaceFixture();
    const other = await note('other');
    await kernel.memory.link(owner, other, handle, 'references');
    await kernel.capabilities.ask(owner, { resource: names[0], rights: ['read'] });
    const { items } = await kernel.memory.query(owner, { types: ['claim'] });
    expect(items.map(({ id }) => id)).toEqual([other.id]);
    expect(await kernel.memory.links(owner, other)).toEqual([]);
    expect((await kernel.memory.view(owner)).roots.filter(({ id }) => id === handle.id)).toEqual([]);
    expect(await kernel.approvals.list()).toEqual([]);
  });

  it('is not asked about what the process could not do anyway', async () => {
    const { kernel, stranger, handle, names, refused } = await namespaceFixture();
    await kernel.capabilities.ask('*', { resource: names[0], rights: ['read'] });
    expect((await refused(() => kernel.memory.read(stranger, handle))).code).toBe('NO_SUCH_OBJECT');
    expect(await kernel.approvals.list()).toEqual([]);
  });
});

describe('finite uses', () => {
  it('are claimed by each look at an object, once', async () => {
    const looks: Record<string, (set: OwnerAndStranger, handle: ObjectHandle) => Promise<unknown>> = {
      read: ({ kernel, stranger }, handle) => kernel.memory.read(stranger, handle),
      version: ({ kernel, stranger }, handle) => kernel.memory.read(stranger, handle, { version: 1 }),
      history: ({ kernel, stranger }, handle) => kernel.memory.history(stranger, handle),
      links: ({ kernel, stranger }, handle) => kernel.memory.links(stranger, handle),
      lookup: ({ kernel, stranger, owner }) => kernel.memory.lookup(stranger, 'n', `process/${owner}`),
      update: ({ kernel, stranger }, handle) => kernel.memory.update(stranger, handle, 2),
      diff: async ({ kernel, stranger }, handle) => {
        const mine = await kernel.memory.create(stranger, { type: 'claim', payload: 1 });
        return kernel.memory.diff(stranger, mine, handle);
      },
      source: ({ kernel, stranger }, handle) =>
        kernel.memory.create(stranger, { type: 'claim', payload: 1, sources: [handle] }),
      link: async ({ kernel, stranger }, handle) => {
        const mine = await kernel.memory.create(stranger, { type: 'claim', payload: 1 });
        return kernel.memory.link(stranger, mine, handle, 'references');
      },
      add: ({ kernel, stranger }, handle) => kernel.memory.addToView(stranger, handle),
    };
    const left: Record<string, number | undefined> = {};
    for (const [name, look] of Object.entries(looks)) {
      const set = await ownerAndStranger();
      const handle = await set.note({ n: 1 }, { name: 'n' });
      const resource = `object:${handle.id}`;
      const { id } = await set.kernel.capabilities.grant(set.stranger, {
        resource,
        rights: ['read', 'write', 'diff'],
        uses: 3,
      });
      await look(set, handle);
      left[name] = (await set.kernel.capabilities.get(id)).uses;
      await checkInvariants(set.kernel, set.path);
    }
    expect(left).toEqual(Object.fromEntries(Object.keys(looks).map((name) => [name, 2])));
  });

  it('let exactly so many of many readers through, and lists claim none', async () => {
    const { kernel, path, stranger, note } = await ownerAndStranger();
    const handle = await note();
    await kernel.capabilities.grant(stranger, { resource: `object:${handle.id}`, rights: ['read'], uses: 2 });
    expect((await kernel.memory.query(stranger, { types: ['claim'] })).items).toEqual([]);
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => kernel.memory.read(stranger, handle)));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    await checkInvariants(kernel, path);
  });

  it('are not claimed where something unlimited is held as well', async () => {
    const { kernel, stranger, note } = await ownerAndStranger();
    const handle = await note();
    const resource = `object:${handle.id}`;
    const { id } = await kernel.capabilities.grant(stranger, { resource, rights: ['read'], uses: 1 });
    await kernel.capabilities.grant(stranger, { resource, rights: ['read'] });
    for (let times = 0; times < 3; times++) await kernel.memory.read(stranger, handle);
    expect((await kernel.capabilities.get(id)).uses).toBe(1);
  });
});
