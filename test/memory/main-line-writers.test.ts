import { describe, expect, it } from 'vitest';
import type { Right } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { type ParentAndChildren, parentAndChildren, readOrCode } from '../support/memory/parent-and-children.js';

const grantTo = ({ kernel, note }: ParentAndChildren, pid: string, rights: readonly Right[], more: object = {}) =>
  kernel.capabilities.grant(pid, { resource: `object:${note.id}`, rights: [...rights], ...more });

describe('a child whose view only reads, and that is given the right to write an object of it', () => {
  it.each(['restricted', 'worker'] as const)('writes the main line and sees what it wrote: %s', async (mode) => {
    // Regression: it kept seeing the version at the fork, so a retry after VERSION_CONFLICT could not succeed.
    const all = await parentAndChildren();
    const { kernel, path, parent, note, fork, read } = all;
    const child = await fork({ mode });
    await kernel.memory.update(parent, note, { n: 2 });
    await grantTo(all, child, ['read', 'write', 'diff', 'materialize']);
    const { version } = await kernel.memory.read(child, note);
    expect(version).toBe(2);
    await kernel.memory.update(child, note, { n: 3 }, { ifVersion: version });
    expect([await read(child, note), await read(parent, note)]).toEqual([{ n: 3 }, { n: 3 }]);
    expect((await kernel.memory.history(child, note)).map(({ madeBy }) => madeBy)).toEqual([parent, parent, child]);
    const { items } = await kernel.memory.query(child, { types: ['claim'] });
    expect(items.map(({ payload }) => payload)).toEqual([{ n: 3 }]);
    expect((await kernel.memory.materialize(child, { tokensMax: 1_000 })).text.includes('"n": 3')).toBe(true);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    expect(await readOrCode(again, child, note)).toEqual({ n: 3 });
    await again.processes.exit(child);
    expect(await again.memory.merge(parent, child)).toEqual({ merged: [], adopted: [], skipped: [], conflicts: [] });
    await checkInvariants(again, path);
  });

  it('sees it also where the parent has a version of its own, which stays as it is', async () => {
    const all = await parentAndChildren();
    const { kernel, parent, note, fork, read } = all;
    const copy = await fork({ mode: 'copy' });
    await kernel.memory.update(copy, note, 'the copy’s');
    const child = await fork({ mode: 'worker' }, copy);
    expect(await read(child, note)).toBe('the copy’s');
    await grantTo(all, child, ['write']);
    await kernel.memory.update(child, note, 'the worker’s');
    const three = await Promise.all([parent, copy, child].map((pid) => read(pid, note)));
    expect(three).toEqual(['the worker’s', 'the copy’s', 'the worker’s']);
  });

  it('sees it also when the right was for writing alone, or for one time', async () => {
    const all = await parentAndChildren();
    const { kernel, path, parent, note, fork, read, refused } = all;
    const [one, two] = [await fork(), await fork()];
    await grantTo(all, one, ['write']);
    await grantTo(all, two, ['write'], { uses: 1 });
    await kernel.memory.update(one, note, 'one');
    expect(await read(one, note)).toBe('one');
    await kernel.memory.update(two, note, 'two');
    expect((await refused(() => kernel.memory.update(two, note, 'again'))).code).toBe('NO_SUCH_OBJECT');
    expect([await read(parent, note), await read(one, note), await read(two, note)]).toEqual(['two', 'two', 'two']);
    await checkInvariants(kernel, path);
  });

  it('goes on seeing the snapshot with the right to read alone, and after the right to write has gone', async () => {
    const all = await parentAndChildren();
    const { kernel, parent, note, fork, read, refused } = all;
    const [reader, writer] = [await fork(), await fork()];
    await grantTo(all, reader, ['read', 'diff', 'materialize']);
    const { id } = await grantTo(all, writer, ['read', 'write']);
    await kernel.memory.update(parent, note, { n: 2 });
    expect([await read(reader, note), await read(writer, note)]).toEqual([{ n: 1 }, { n: 2 }]);
    expect((await refused(() => kernel.memory.update(reader, note, 3))).code).toBe('NO_SUCH_OBJECT');
    await kernel.capabilities.revoke(id);
    expect(await read(writer, note)).toEqual({ n: 1 });
  });

  it('hands on what it sees: a fork of it starts from there, and is merged without a conflict', async () => {
    const all = await parentAndChildren();
    const { kernel, path, parent, note, fork, read } = all;
    const child = await fork({ mode: 'restricted' });
    await kernel.memory.update(parent, note, { n: 2 });
    await grantTo(all, child, ['read', 'write'], { delegable: true });
    const before = await fork({ mode: 'copy' }, child);
    await kernel.memory.addToView(child, note);
    const after = await fork({ mode: 'copy' }, child);
    // Forks inherit the main line's version only where the object was added under the child's own capability.
    expect([await read(before, note), await read(after, note)]).toEqual([{ n: 1 }, { n: 2 }]);
    await kernel.memory.update(after, note, { n: 3 });
    await kernel.processes.exit(after);
    const { merged, conflicts } = await kernel.memory.merge(child, after);
    expect([merged, conflicts, await read(parent, note)]).toEqual([[note.id], [], { n: 3 }]);
    await checkInvariants(kernel, path);
  });

  it('is not a child that copies: that one writes its own version, by whatever right', async () => {
    const all = await parentAndChildren();
    const { kernel, parent, note, fork, read } = all;
    const child = await fork({ mode: 'copy' });
    await grantTo(all, child, ['read', 'write']);
    await kernel.memory.update(parent, note, { n: 2 });
    expect(await read(child, note)).toEqual({ n: 1 });
    await kernel.memory.update(child, note, { n: 3 });
    expect([await read(child, note), await read(parent, note)]).toEqual([{ n: 3 }, { n: 2 }]);
  });
});
