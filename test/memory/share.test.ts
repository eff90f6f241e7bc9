import { describe, expect, it } from 'vitest';
import type { Capability, Kernel, Pid, Right } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { eventsAfter, kernelFixture, lastSeq } from '../support/kernel-fixture.js';
import { ownerAndStranger, refusalDetails, unknownId } from '../support/memory/owner-and-stranger.js';

async function capabilitiesOn(kernel: Kernel, pid: Pid, object: string): Promise<Partial<Capability>[]> {
  const held = (await kernel.capabilities.list(pid)).filter(({ resource }) => resource === `object:${object}`);
  return held.map(({ rights, grantable, uses, expiresAt, depth, grantedBy }) => {
    return { rights, grantable, uses, expiresAt, depth, grantedBy } as Partial<Capability>;
  });
}

const plain = { grantable: undefined, uses: undefined, expiresAt: undefined, depth: 1 };

describe('sharing an object', () => {
  it('mints a capability on that object for the receiver, and puts nothing into its view', async () => {
    const { kernel, path, owner, stranger, note } = await ownerAndStranger();
    const [handle, other] = [await note(), await note()];
    const view = await kernel.memory.view(stranger);
    const before = await lastSeq(kernel);
    const shared = await kernel.memory.share(owner, stranger, handle, ['read', 'read', 'diff']);
    expect(await eventsAfter(kernel, before)).toEqual([['object.shared', stranger]]);
    expect(await capabilitiesOn(kernel, stranger, handle.id)).toEqual([
      { ...plain, rights: ['read', 'diff'], grantedBy: owner },
    ]);
    expect([shared.id, shared.rights]).toEqual([handle.id, ['read', 'diff']]);
    expect(await kernel.memory.view(stranger)).toEqual(view);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    expect((await again.memory.read(stranger, shared)).payload).toEqual({ n: 1 });
    expect(await refusalDetails(() => again.memory.read(stranger, other))).toMatchObject({ code: 'NO_SUCH_OBJECT' });
    await again.memory.addToView(stranger, shared);
    expect((await again.memory.view(stranger)).roots.map(({ id }) => id)).toContain(handle.id);
    await checkInvariants(again, path);
  });

  it('is seen by the next check, also of a receiver that was asked about before', async () => {
    const { kernel, owner, stranger, note } = await ownerAndStranger();
    const { id } = await note();
    const may = async () => (await kernel.capabilities.check(stranger, 'read', `object:${id}`)).effect;
    expect(await may()).toBe('deny');
    await kernel.memory.share(owner, stranger, id, ['read']);
    expect(await may()).toBe('allow');
  });

  it('ends with what it was shared from', async () => {
    const { kernel, path, owner, stranger, note } = await ownerAndStranger();
    const handle = await note();
    const shared = await kernel.memory.share(owner, stranger, handle, ['read', 'grant']);
    const third = await kernel.processes.spawn({});
    await kernel.memory.share(stranger, third, handle, ['read']);
    expect((await kernel.memory.read(third, handle)).payload).toEqual({ n: 1 });
    await kernel.capabilities.revoke(shared.capability);
    for (const pid of [stranger, third]) {
      expect(await refusalDetails(() => kernel.memory.read(pid, handle))).toMatchObject({ code: 'NO_SUCH_OBJECT' });
    }
    expect((await kernel.memory.read(owner, handle)).payload).toEqual({ n: 1 });
    await checkInvariants(kernel, path);
  });

  it('with grant among the rights makes the others grantable, and grant itself not', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note();
    const third = await kernel.processes.spawn({});
    const give = (rights: Right[]) => () => kernel.memory.share(stranger, third, handle, rights);
    await kernel.memory.share(owner, stranger, handle, ['read', 'write']);
    expect(await refused(give(['read']))).toMatchObject({ code: 'AMPLIFICATION', facts: { field: 'rights' } });
    await kernel.memory.share(owner, stranger, handle, ['read', 'diff', 'grant']);
    await give(['read'])();
    expect(await capabilitiesOn(kernel, third, handle.id)).toEqual([
      { ...plain, rights: ['read'], depth: 2, grantedBy: stranger },
    ]);
    for (const rights of [['read', 'grant'], ['write'], ['read', 'write'], ['delete'], ['materialize'], ['link']]) {
      const { code, facts } = await refused(give(rights as Right[]));
      expect([code, facts]).toEqual([
        'AMPLIFICATION',
        { field: 'rights', from: stranger, object: handle.id, rights: expect.arrayContaining(rights) },
      ]);
    }
  });

  it('of rights that there are not, or none, or nothing but grant, is refused', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note();
    for (const rights of [[], ['call'], ['create'], ['list'], ['own'], 'read', ['grant'], [1], undefined]) {
      const call = () => kernel.memory.share(owner, stranger, handle, rights as never);
      expect([rights, (await refused(call)).code]).toEqual([rights, 'INVALID_INPUT']);
    }
  });

  it('hands on expiry and uses, and prefers what has neither', async () => {
    const { kernel, path, owner, stranger, note } = await ownerAndStranger();
    const handle = await note();
    const third = await kernel.processes.spawn({});
    const resource = `object:${handle.id}`;
    const expiresAt = Date.now() + 3_600_000;
    const rights: Right[] = ['read', 'grant'];
    await kernel.capabilities.grant(stranger, { resource, rights, uses: 2, expiresAt });
    await kernel.memory.share(stranger, third, handle, ['read']);
    expect(await capabilitiesOn(kernel, third, handle.id)).toEqual([
      { ...plain, rights: ['read'], uses: 2, expiresAt, grantedBy: stranger },
    ]);
    await kernel.memory.read(third, handle);
    await kernel.memory.read(stranger, handle);
    for (const pid of [third, stranger]) {
      expect(await refusalDetails(() => kernel.memory.read(pid, handle))).toMatchObject({ code: 'NO_SUCH_OBJECT' });
    }
    await kernel.capabilities.grant(stranger, { resource, rights, uses: 5 });
    await kernel.capabilities.grant(stranger, { resource, rights });
    await kernel.memory.share(stranger, third, handle, ['read']);
    expect((await capabilitiesOn(kernel, third, handle.id)).map(({ uses }) => uses)).toEqual([undefined]);
    await kernel.memory.read(owner, handle);
    await checkInvariants(kernel, path);
  });

  it('never goes back to the giver, nor to anyone above it in the chain', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note();
    await kernel.memory.share(owner, stranger, handle, ['read', 'grant']);
    for (const [from, to] of [
      [stranger, owner],
      [stranger, stranger],
      [owner, owner],
    ] as const) {
      expect(await refused(() => kernel.memory.share(from, to, handle, ['read']))).toEqual({
        code: 'AMPLIFICATION',
        facts: { field: 'to', from, object: handle.id, rights: ['read'] },
      });
    }
    await kernel.capabilities.grant(stranger, { resource: `object:${handle.id}`, rights: ['read', 'grant'] });
    await kernel.memory.share(stranger, owner, handle, ['read']);
  });

  it('goes no deeper than the chain may be', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note();
    const resource = `object:${handle.id}`;
    await kernel.capabilities.grant(stranger, { resource, rights: ['read'], delegable: true, maxDepth: 0 });
    expect(await refused(() => kernel.memory.share(stranger, owner, handle, ['read']))).toMatchObject({
      code: 'AMPLIFICATION',
      facts: { field: 'maxDepth' },
    });
  });
});

describe('a receiver', () => {
  it('on a process’s face is a child, the parent, or one that it may send to', async () => {
    const { kernel, path, owner, stranger, note } = await ownerAndStranger();
    const child = await kernel.processes.spawnChild(owner, {});
    const handle = await note();
    const face = kernel.as(owner).memory;
    expect((await face.share(child, handle, ['read'])).id).toBe(handle.id);
    const upward = await kernel.memory.create(child, { type: 'claim', payload: 'up' });
    await kernel.as(child).memory.share(owner, upward, ['read']);
    await kernel.capabilities.grant(owner, { resource: `process:${stranger}`, rights: ['send'], uses: 1 });
    await face.share(stranger, handle, ['read']);
    expect(await refusalDetails(() => face.share(stranger, handle, ['read']))).toMatchObject({
      code: 'CAPABILITY_DENIED',
    });
    await checkInvariants(kernel, path);
  });

  it('that is out of reach is not told from one that is not there', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note();
    const face = kernel.as(owner).memory;
    const give = (to: Pid) => refusalDetails(() => face.share(to, handle, ['read']), to);
    expect(await give(stranger)).toMatchObject({ code: 'CAPABILITY_DENIED' });
    expect(await give(stranger)).toEqual(await give('p_nobody'));
    await refused(() => face.share(stranger, handle, ['read']));
  });

  it('that has ended, is being stopped, or never was gets nothing from the host either', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note();
    await kernel.processes.exit(stranger);
    const give = (from: Pid, to: Pid) => refused(() => kernel.memory.share(from, to, handle, ['read']));
    expect((await give(owner, stranger)).code).toBe('PROCESS_TERMINATED');
    expect((await give(owner, 'p_nobody')).code).toBe('NO_SUCH_PROCESS');
    expect((await give(stranger, owner)).code).toBe('PROCESS_TERMINATED');
  });

  it('does not learn from a giver whether there is an object that the giver may not see', async () => {
    const { kernel, owner, note } = await ownerAndStranger();
    const child = await kernel.processes.spawnChild(owner, {});
    const grandchild = await kernel.processes.spawnChild(child, {});
    const { id } = await note();
    const give = (object: string) =>
      refusalDetails(() => kernel.as(child).memory.share(grandchild, object, ['read']), object);
    expect(await give(id)).toMatchObject({ code: 'NO_SUCH_OBJECT' });
    expect(await give(id)).toEqual(await give(unknownId));
  });
});
