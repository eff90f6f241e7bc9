import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { parentAndChildren, readOrCode } from '../support/memory/parent-and-children.js';
import { runsUnitsOnce } from '../support/store-modes.js';

const nothing = { merged: [], adopted: [], skipped: [], conflicts: [] };

describe('a namespace below the own one of a process', () => {
  it('is the process’s own: nobody else creates, reads or looks up there', async () => {
    const { kernel, parent, create, read, refused } = await parentAndChildren();
    const namespace = `process/${parent}/drafts`;
    const draft = await create(parent, 'draft', { namespace, name: 'one' });
    const other = await kernel.processes.spawn({ image: 'worker' });
    expect((await kernel.memory.lookup(parent, 'one', namespace)).id).toBe(draft.id);
    expect(await read(other, draft)).toBe('NO_SUCH_OBJECT');
    expect((await refused(() => kernel.memory.lookup(other, 'one', namespace))).code).toBe('NO_SUCH_OBJECT');
    expect((await refused(() => create(other, 1, { namespace }))).code).toBe('CAPABILITY_DENIED');
  });

  it('moves to the same place below the parent’s own one by a merge', async () => {
    // Regression: such objects were not moved, and could not be reached after the merge.
    const { kernel, path, parent, fork, create, inView, note } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    const own = `process/${child}`;
    const [draft, deep] = [
      await create(child, 'draft', { namespace: `${own}/drafts`, name: 'one' }),
      await create(child, 'deep', { namespace: `${own}/a/b/c` }),
    ];
    await kernel.processes.exit(child);
    expect(await kernel.memory.merge(parent, child)).toEqual({ ...nothing, adopted: [draft.id, deep.id] });
    expect((await kernel.memory.lookup(parent, 'one', `process/${parent}/drafts`)).id).toBe(draft.id);
    expect((await kernel.memory.read(parent, deep)).namespace).toBe(`process/${parent}/a/b/c`);
    await kernel.memory.update(parent, deep, 'mine now');
    expect(await inView(parent)).toEqual([note.id, draft.id, deep.id]);
    await checkInvariants(kernel, path);
  });

  it('drops a name that is taken in that place, and only there', async () => {
    const { kernel, parent, fork, create } = await parentAndChildren();
    await create(parent, 'ours', { namespace: `process/${parent}/x`, name: 'one' });
    await create(parent, 'ours', { name: 'two' });
    const child = await fork({ mode: 'copy' });
    const [one, two] = [
      await create(child, 'theirs', { namespace: `process/${child}/x`, name: 'one' }),
      await create(child, 'theirs', { namespace: `process/${child}/x`, name: 'two' }),
    ];
    await kernel.processes.exit(child);
    expect(await kernel.memory.merge(parent, child)).toEqual({
      ...nothing,
      adopted: [one.id, two.id],
      skipped: [{ object: one.id, reason: 'name_taken' }],
    });
    expect((await kernel.memory.lookup(parent, 'two', `process/${parent}/x`)).id).toBe(two.id);
  });

  it.skipIf(!runsUnitsOnce)('of another process whose pid begins like this one’s is left where it is', async () => {
    // As pids of children were made by older versions.
    const pids = ['p_parent', 'p_parent.a', 'p_parent.a.b'];
    let count = 0;
    const ids = {
      next: (kind: string) => (kind === 'process' ? (pids.shift() ?? '') : `${kind.slice(0, 2)}_${++count}`),
    };
    const { kernel, parent, fork, create, read } = await parentAndChildren(await kernelFixture({ ids }));
    const child = await fork({ mode: 'copy' });
    const longer = await fork({ mode: 'copy' });
    expect(longer).toBe(`${child}.b`);
    const theirs = await create(longer, 'theirs', { namespace: `process/${longer}/x` });
    await kernel.memory.share(longer, parent, theirs, ['read', 'grant']);
    await kernel.memory.share(parent, child, theirs, ['read']);
    await kernel.memory.addToView(child, theirs);
    await kernel.processes.exit(child);
    expect(await kernel.memory.merge(parent, child)).toEqual(nothing);
    expect(await read(longer, theirs)).toBe('theirs');
  });

  it('holds results that are the process’s own: the parent gets nothing but what it inherits', async () => {
    const { kernel, parent, fork, create } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    const result = await create(child, 'result', { namespace: `process/${child}/out` });
    await kernel.memory.removeFromView(child, result);
    await kernel.processes.exit(child, { result });
    expect((await kernel.processes.wait(parent, child)).value).toBe('result');
    const resources = (await kernel.capabilities.list(parent)).map(({ resource }) => resource);
    expect(resources).toEqual([`ns:process/${parent}/**`, `ns:process/${child}/**`]);
    expect((await kernel.memory.merge(parent, child)).adopted).toEqual([result.id]);
    expect((await kernel.memory.read(parent, result)).namespace).toBe(`process/${parent}/out`);
  });

  it('is left by a sweep while its process lives, and what its parent can still read', async () => {
    // Regression: a sweep dropped payloads of live processes, because no owner of the namespace was found.
    const { kernel, path, parent, fork, create, read } = await parentAndChildren();
    const child = await fork();
    const place = (pid: string) => ({ namespace: `process/${pid}/drafts/today` });
    const [mine, theirs] = [await create(parent, 'mine', place(parent)), await create(child, 'theirs', place(child))];
    expect(await kernel.memory.sweep()).toEqual({ reclaimed: 0 });
    expect([await read(parent, mine), await read(child, theirs)]).toEqual(['mine', 'theirs']);
    await kernel.processes.exit(child);
    expect(await kernel.memory.sweep()).toEqual({ reclaimed: 0 });
    expect(await read(parent, theirs)).toBe('theirs');
    await checkInvariants(kernel, path);
  });

  it('is reclaimed when its process was merged, but for what somebody was given of it', async () => {
    const { kernel, path, parent, fork, create, read } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    const made = async (name: string) => {
      const object = await create(child, name, { namespace: `process/${child}/drafts/${name}` });
      await kernel.memory.removeFromView(child, object);
      return object;
    };
    const [place, wild, one, far, left] = [
      await made('place'),
      await made('wild'),
      await made('one'),
      await made('far'),
      await made('left'),
    ];
    const reader = await kernel.processes.spawn({
      image: 'worker',
      capabilities: [
        { resource: `ns:process/${child}/drafts/place/**`, rights: ['read'] },
        { resource: `ns:process/${child}/drafts/wild/*`, rights: ['read'] },
        { resource: `ns:process/${child}/drafts/one/${one.id}`, rights: ['read'] },
        { resource: `object:${far.id}`, rights: ['read'] },
        { resource: `ns:process/${child}/drafts/lef/**`, rights: ['read'] },
      ],
    });
    await kernel.processes.exit(child);
    await kernel.memory.merge(parent, child);
    const all = () => Promise.all([place, wild, one, far, left].map((object) => read(reader, object)));
    const before = await all();
    expect(before).toEqual(['place', 'wild', 'one', 'far', 'NO_SUCH_OBJECT']);
    await kernel.memory.sweep();
    expect(await all()).toEqual(before);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    await again.capabilities.grant(reader, { resource: `object:${left.id}`, rights: ['read'] });
    expect(await readOrCode(again, reader, left)).toBe('NO_SUCH_OBJECT');
    await checkInvariants(again, path);
  });

  it('is left by a sweep where a wildcard in the middle of a place could mean it', async () => {
    const { kernel, parent, fork, create, read } = await parentAndChildren();
    const child = await fork();
    const made = await create(child, 'made', { namespace: `process/${child}/drafts/today` });
    const resource = `ns:process/${child}/*/today/*`;
    const reader = await kernel.processes.spawn({ image: 'worker', capabilities: [{ resource, rights: ['read'] }] });
    await kernel.processes.exit(parent);
    await kernel.memory.sweep();
    expect(await read(reader, made)).toBe('made');
  });
});
