import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { parentAndChildren } from '../support/memory/parent-and-children.js';

const nothing = { merged: [], adopted: [], skipped: [], conflicts: [] };

describe('merge', () => {
  it('brings back what a child wrote and made, its result among it', async () => {
    const { kernel, path, parent, note, fork, create, read, inView } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, { n: 2 });
    const made = await create(child, 'made', { name: 'findings' });
    await kernel.processes.exit(child, { result: 'done' });
    const { result } = await kernel.processes.wait(parent, child);
    const adopted = [result?.id ?? '', made.id];
    expect(await kernel.memory.merge(parent, child)).toEqual({ ...nothing, merged: [note.id], adopted });
    expect([await read(parent, note), (await inView(parent)).sort()]).toEqual([
      { n: 2 },
      [note.id, made.id, result?.id].sort(),
    ]);
    expect((await kernel.memory.lookup(parent, 'findings')).id).toBe(made.id);
    await kernel.memory.update(parent, made, 'mine now');
    expect(await kernel.memory.read(parent, made)).toMatchObject({
      payload: 'mine now',
      namespace: `process/${parent}`,
      createdBy: child,
    });
    await checkInvariants(kernel, path);
  });

  it('names the version of the child among the sources of the new one', async () => {
    const { kernel, parent, note, fork } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    for (const n of [2, 3, 4]) await kernel.memory.update(child, note, { n });
    const view = Number((await kernel.memory.view(child)).id.replace('view_', ''));
    await kernel.processes.exit(child);
    await kernel.memory.merge(parent, child);
    const told = (await kernel.memory.history(parent, note)).map(({ version, madeBy, sources }) => {
      return { version, madeBy, sources };
    });
    expect(told).toEqual([
      { version: 1, madeBy: parent, sources: [] },
      { version: 2, madeBy: parent, sources: [{ object: note.id, version: 4, view }] },
    ]);
  });

  it('twice changes nothing the second time', async () => {
    const { kernel, parent, note, fork, create, refused } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, { n: 2 });
    await create(child, 'made');
    await kernel.processes.exit(child);
    await kernel.memory.merge(parent, child);
    await kernel.memory.update(parent, note, { n: 3 });
    const before = await kernel.memory.query(parent);
    expect(await kernel.memory.merge(parent, child, 'theirs')).toEqual(nothing);
    expect(await kernel.memory.query(parent)).toEqual(before);
    expect((await refused(() => kernel.memory.merge(parent, child, 'no' as never))).code).toBe('INVALID_INPUT');
  });

  it('at once from two callers brings it back once', async () => {
    const { kernel, path, parent, note, fork } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, { n: 2 });
    await kernel.processes.exit(child);
    const results = await Promise.all([1, 2, 3].map(() => kernel.memory.merge(parent, child)));
    expect(results).toEqual([{ ...nothing, merged: [note.id] }, nothing, nothing]);
    expect((await kernel.memory.read(parent, note)).version).toBe(2);
    await checkInvariants(kernel, path);
  });

  it('is refused for what is no ended child with a view of this one', async () => {
    const { kernel, parent, fork, refused } = await parentAndChildren();
    const live = await fork({ mode: 'copy' });
    const grandchild = await fork({ mode: 'copy' }, live);
    const fresh = await kernel.processes.spawnChild(parent, { image: 'worker' });
    const stranger = await kernel.processes.spawn({ image: 'worker' });
    for (const pid of [grandchild, fresh, stranger]) await kernel.processes.exit(pid);
    const codes = [];
    for (const pid of [live, grandchild, fresh, stranger, parent, 'p_nobody']) {
      codes.push((await refused(() => kernel.memory.merge(parent, pid))).code);
    }
    expect(codes).toEqual([
      'INVALID_TRANSITION',
      'NOT_A_CHILD',
      'NOT_FORKED',
      'NOT_A_CHILD',
      'NOT_A_CHILD',
      'NOT_A_CHILD',
    ]);
    await kernel.processes.exit(parent);
    expect((await refusal(kernel.memory.merge(parent, live))).code).toBe('PROCESS_TERMINATED');
  });

  it('of a child that wrote nothing, or that could not, brings back what it made', async () => {
    const { kernel, parent, fork, create } = await parentAndChildren();
    for (const mode of ['restricted', 'worker', 'copy'] as const) {
      const child = await fork({ mode });
      const made = await create(child, mode);
      await kernel.processes.exit(child);
      expect(await kernel.memory.merge(parent, child)).toEqual({ ...nothing, adopted: [made.id] });
    }
  });

  it('leaves the goal of the child, also one that it has added to its view again', async () => {
    // Regression: it was adopted like an object that the child had created.
    const { kernel, parent, fork } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    await kernel.memory.addToView(child, (await kernel.processes.get(child)).goal);
    await kernel.processes.exit(child);
    expect(await kernel.memory.merge(parent, child)).toEqual(nothing);
  });

  it('adopts an object whose name is taken without its name', async () => {
    const { kernel, parent, fork, create } = await parentAndChildren();
    const ours = await create(parent, 'ours', { name: 'report' });
    const child = await fork({ mode: 'copy' });
    const theirs = await create(child, 'theirs', { name: 'report' });
    await kernel.processes.exit(child);
    expect(await kernel.memory.merge(parent, child)).toEqual({
      ...nothing,
      adopted: [theirs.id],
      skipped: [{ object: theirs.id, reason: 'name_taken' }],
    });
    expect((await kernel.memory.lookup(parent, 'report')).id).toBe(ours.id);
    expect((await kernel.memory.read(parent, theirs)).name).toBeUndefined();
  });

  it('leaves what lies in a shared namespace where it is', async () => {
    const { kernel, parent, fork, create } = await parentAndChildren();
    const resource = 'ns:team/**';
    await kernel.capabilities.grant(parent, { resource, rights: ['read', 'create', 'write'], delegable: true });
    const child = await fork({ mode: 'copy', delegate: [{ resource, rights: ['read', 'create'] }] });
    const shared = await create(child, 'shared', { namespace: 'team/notes', name: 'one' });
    await kernel.processes.exit(child);
    expect(await kernel.memory.merge(parent, child)).toEqual(nothing);
    expect(await kernel.memory.read(parent, shared)).toMatchObject({ namespace: 'team/notes', name: 'one' });
  });

  it('skips what the parent may only read, also when it could write it before', async () => {
    const { kernel, path, parent, fork, create, read } = await parentAndChildren();
    const owner = await kernel.processes.spawn({ image: 'worker' });
    const given = await create(owner, 'before');
    const { id } = await kernel.capabilities.grant(parent, {
      resource: `object:${given.id}`,
      rights: ['read', 'write'],
      delegable: true,
    });
    await kernel.memory.addToView(parent, given.id);
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, given.id, 'mine');
    await kernel.processes.exit(child);
    await kernel.capabilities.revoke(id);
    await kernel.capabilities.grant(parent, { resource: `object:${given.id}`, rights: ['read'], delegable: true });
    const skipped = [{ object: given.id, reason: 'no_right' }];
    expect(await kernel.memory.merge(parent, child, 'theirs')).toEqual({ ...nothing, skipped });
    expect(await read(owner, given)).toBe('before');
    await checkInvariants(kernel, path);
  });

  it('skips what a deny rule closes to the parent', async () => {
    const { kernel, parent, note, fork, read } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, { n: 2 });
    await kernel.processes.exit(child);
    await kernel.capabilities.deny(parent, { resource: `object:${note.id}`, rights: ['write'] });
    const skipped = [{ object: note.id, reason: 'no_right' }];
    expect(await kernel.memory.merge(parent, child)).toEqual({ ...nothing, skipped });
    expect(await read(parent, note)).toEqual({ n: 1 });
  });

  it('skips what is the same on both sides, and what was deleted', async () => {
    const { kernel, parent, note, fork, create, read } = await parentAndChildren();
    const [same, back, gone] = [await create(parent, 1), await create(parent, 1), await create(parent, 1)];
    const child = await fork({ mode: 'copy' });
    for (const object of [same, back, gone, note]) await kernel.memory.update(child, object, 2);
    await kernel.memory.update(child, back, 1);
    await kernel.memory.update(parent, same, 2);
    await kernel.memory.update(parent, back, 3);
    await kernel.memory.delete(parent, gone);
    await kernel.processes.exit(child);
    expect(await kernel.memory.merge(parent, child)).toEqual({
      ...nothing,
      merged: [note.id],
      skipped: [
        { object: same.id, reason: 'same' },
        { object: back.id, reason: 'same' },
        { object: gone.id, reason: 'deleted' },
      ],
    });
    expect([await read(parent, same), await read(parent, back)]).toEqual([2, 3]);
  });

  it('gives the parent no more over what the child made than over what it makes itself', async () => {
    const { kernel, parent, note, fork, create } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    const made = await create(child, 'made');
    await kernel.processes.exit(child);
    await kernel.memory.merge(parent, child);
    const held = await kernel.capabilities.list(parent);
    expect(held.map(({ id }) => id)).toEqual([note.capability]);
    const root = (await kernel.memory.view(parent)).roots.find(({ id }) => id === made.id);
    expect([root?.capability, root?.rights]).toEqual([note.capability, note.rights]);
  });

  it('gives the parent nothing on what the child was only given by others', async () => {
    const { kernel, path, parent, fork, create, read, inView, note } = await parentAndChildren();
    const owner = await kernel.processes.spawn({ image: 'worker' });
    const [lent, written] = [await create(owner, 'lent'), await create(owner, 'before')];
    const child = await fork({ mode: 'copy' });
    await kernel.memory.share(owner, child, lent, ['read', 'grant']);
    await kernel.memory.share(owner, child, written, ['read', 'write']);
    for (const object of [lent, written]) await kernel.memory.addToView(child, object);
    // It is not in the base, so it is written to the main line.
    await kernel.memory.update(child, written, 'after');
    await kernel.processes.exit(child);
    expect(await kernel.memory.merge(parent, child)).toEqual(nothing);
    expect([await read(parent, lent), await read(parent, written), await inView(parent)]).toEqual([
      'NO_SUCH_OBJECT',
      'NO_SUCH_OBJECT',
      [note.id],
    ]);
    expect(await read(owner, written)).toBe('after');
    await checkInvariants(kernel, path);
  });

  it('leaves what the child made to stay as it is immutable for the parent, too', async () => {
    const { kernel, parent, fork, create, refused } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    const made = await create(child, 'made', { immutable: true });
    await kernel.processes.exit(child);
    expect((await kernel.memory.merge(parent, child)).adopted).toEqual([made.id]);
    expect((await refused(() => kernel.memory.update(parent, made, 2))).code).toBe('IMMUTABLE');
  });

  it('into a parent that is a copy itself goes into its copy', async () => {
    const { kernel, path, parent, note, fork, create, read } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    const grandchild = await fork({ mode: 'copy' }, child);
    await kernel.memory.update(grandchild, note, { n: 2 });
    const made = await create(grandchild, 'made');
    await kernel.processes.exit(grandchild);
    expect(await kernel.memory.merge(child, grandchild)).toEqual({
      ...nothing,
      merged: [note.id],
      adopted: [made.id],
    });
    expect([await read(parent, note), await read(child, note), await read(parent, made)]).toEqual([
      { n: 1 },
      { n: 2 },
      'NO_SUCH_OBJECT',
    ]);
    await kernel.processes.exit(child);
    await kernel.memory.merge(parent, child);
    expect([await read(parent, note), await read(parent, made)]).toEqual([{ n: 2 }, 'made']);
    await checkInvariants(kernel, path);
  });

  it('into a parent that reads only skips what it may not write', async () => {
    const { kernel, parent, note, fork, read } = await parentAndChildren();
    const child = await fork({ mode: 'restricted' });
    const grandchild = await fork({ mode: 'copy' }, child);
    expect((await refusal(kernel.memory.update(grandchild, note, { n: 2 }))).code).toBe('NO_SUCH_OBJECT');
    await kernel.processes.exit(grandchild);
    expect(await kernel.memory.merge(child, grandchild)).toEqual(nothing);
    expect(await read(parent, note)).toEqual({ n: 1 });
  });
});
