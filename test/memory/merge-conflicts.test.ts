import { describe, expect, it } from 'vitest';
import type { JsonValue, MergePolicy } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { type ParentAndChildren, parentAndChildren } from '../support/memory/parent-and-children.js';

interface ConflictFixture extends ParentAndChildren {
  readonly child: string;
}

/** A parent and its ended child, both of which have changed the note. */
async function conflictFixture(ours: JsonValue = 'ours', theirs: JsonValue = 'theirs'): Promise<ConflictFixture> {
  const all = await parentAndChildren();
  const { kernel, parent, note } = all;
  const child = await all.fork({ mode: 'copy' });
  await kernel.memory.update(child, note, theirs);
  await kernel.memory.update(parent, note, ours);
  await kernel.processes.exit(child);
  return { ...all, child };
}

describe('an object that both sides have changed', () => {
  it('is refused by default with what it was and is on both sides, and can be merged later', async () => {
    const { kernel, path, parent, child, note, create, refused, read } = await conflictFixture();
    await create(parent, 'other');
    const { code, facts } = await refused(() => kernel.memory.merge(parent, child));
    const side = (version: number, payload: JsonValue) => ({ version, payload, hash: expect.any(String) });
    expect([code, facts]).toEqual([
      'MERGE_CONFLICT',
      {
        pid: parent,
        child,
        conflicts: [{ object: note.id, base: side(1, { n: 1 }), ours: side(2, 'ours'), theirs: side(2, 'theirs') }],
      },
    ]);
    expect(await read(parent, note)).toBe('ours');
    expect((await kernel.memory.merge(parent, child, 'theirs')).merged).toEqual([note.id]);
    await checkInvariants(kernel, path);
  });

  it('keeps everything else of the child too, when it is refused', async () => {
    const all = await parentAndChildren();
    const { kernel, parent, note, create, fork, read } = all;
    const other = await create(parent, 1);
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, other, 2);
    await kernel.memory.update(child, note, 2);
    const made = await create(child, 'made');
    await kernel.memory.update(parent, note, 3);
    await kernel.processes.exit(child);
    expect((await all.refused(() => kernel.memory.merge(parent, child))).code).toBe('MERGE_CONFLICT');
    expect([await read(parent, other), await read(parent, made)]).toEqual([1, 'made']);
    const { merged, adopted } = await kernel.memory.merge(parent, child, 'ours');
    expect([merged, adopted, await read(parent, other), await read(parent, note)]).toEqual([
      [other.id],
      [made.id],
      2,
      3,
    ]);
  });

  it.each<[string, MergePolicy, unknown, number]>([
    ['ours', 'ours', 'ours', 2],
    ['theirs', 'theirs', 'theirs', 3],
    ['what a function says', (base, ours, theirs) => [base, ours, theirs], [{ n: 1 }, 'ours', 'theirs'], 3],
    ['what a function says later', async (_, ours) => ({ kept: ours }), { kept: 'ours' }, 3],
  ])('ends as %s, and is told', async (_, policy, payload, version) => {
    const { kernel, path, parent, child, note } = await conflictFixture();
    const { merged, conflicts } = await kernel.memory.merge(parent, child, policy);
    expect([merged, conflicts.map(({ object }) => object)]).toEqual([version === 2 ? [] : [note.id], [note.id]]);
    expect(await kernel.memory.read(parent, note)).toMatchObject({ payload, version });
    expect(await kernel.memory.merge(parent, child, policy)).toMatchObject({ merged: [], conflicts: [] });
    await checkInvariants(kernel, path);
  });

  it('is told by hashes only where a payload has over 4 KiB', async () => {
    const { kernel, parent, child } = await conflictFixture('x'.repeat(4_000), 'y'.repeat(4_200));
    const { facts } = await refusal(kernel.memory.merge(parent, child));
    const [conflict] = (facts as { conflicts: Record<'base' | 'ours' | 'theirs', object>[] }).conflicts;
    const keys = Object.values(conflict ?? {}).map((side) => (typeof side === 'object' ? Object.keys(side) : []));
    expect(keys).toEqual([[], ['version', 'hash', 'payload'], ['version', 'hash', 'payload'], ['version', 'hash']]);
  });

  it('counts the bytes of a payload, not its characters', async () => {
    const { kernel, parent, child } = await conflictFixture('é'.repeat(3_000), 'y');
    const { facts } = await refusal(kernel.memory.merge(parent, child));
    const [conflict] = (facts as { conflicts: { ours: object }[] }).conflicts;
    expect(Object.keys(conflict?.ours ?? {})).toEqual(['version', 'hash']);
  });

  it.each<[string, MergePolicy, string]>([
    [
      'throws',
      () => {
        throw new Error('no idea');
      },
      'MERGE_FAILED',
    ],
    ['rejects', () => Promise.reject(new Error('no idea')), 'MERGE_FAILED'],
    ['answers with a function', () => (() => 1) as never, 'INVALID_INPUT'],
    ['answers with nothing', () => undefined as never, 'INVALID_INPUT'],
    ['answers with no number', () => Number.NaN, 'INVALID_INPUT'],
  ])('stays as it is when the function %s', async (_, policy, code) => {
    const { kernel, parent, child, refused, note } = await conflictFixture();
    expect((await refused(() => kernel.memory.merge(parent, child, policy))).code).toBe(code);
    expect((await kernel.memory.merge(parent, child, 'theirs')).merged).toEqual([note.id]);
  });

  it('is asked about again when it has changed meanwhile', async () => {
    const { kernel, parent, child, note, read } = await conflictFixture();
    const asked: unknown[] = [];
    await kernel.memory.merge(parent, child, async (_, ours, theirs) => {
      asked.push(ours);
      if (asked.length === 1) await kernel.memory.update(parent, note, 'meanwhile');
      return [ours, theirs];
    });
    expect([asked, await read(parent, note)]).toEqual([
      ['ours', 'meanwhile'],
      ['meanwhile', 'theirs'],
    ]);
  });

  it('is a conflict that can be tried again when it changes each time', async () => {
    const { kernel, path, parent, child, note, read } = await conflictFixture();
    let times = 0;
    const policy: MergePolicy = async () => {
      await kernel.memory.update(parent, note, { changed: ++times });
      return 'too late';
    };
    await expect(kernel.memory.merge(parent, child, policy)).rejects.toMatchObject({
      code: 'CONFLICT',
      retryable: true,
    });
    expect([times, await read(parent, note)]).toEqual([3, { changed: 3 }]);
    expect((await kernel.memory.merge(parent, child, 'theirs')).merged).toEqual([note.id]);
    await checkInvariants(kernel, path);
  });

  it('is not written when the right to write it goes while the function is asked', async () => {
    const all = await parentAndChildren();
    const { kernel, parent, create, fork, read } = all;
    const owner = await kernel.processes.spawn({ image: 'worker' });
    const given = await create(owner, 'before');
    const resource = `object:${given.id}`;
    const { id } = await kernel.capabilities.grant(parent, { resource, rights: ['read', 'write'], delegable: true });
    await kernel.capabilities.grant(parent, { resource, rights: ['read'] });
    await kernel.memory.addToView(parent, given.id);
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, given.id, 'theirs');
    await kernel.memory.update(owner, given, 'ours');
    await kernel.processes.exit(child);
    const { merged, skipped } = await kernel.memory.merge(parent, child, async () => {
      await kernel.capabilities.revoke(id);
      return 'mine';
    });
    expect([merged, skipped, await read(owner, given)]).toEqual([
      [],
      [{ object: given.id, reason: 'no_right' }],
      'ours',
    ]);
  });

  it('is no conflict for a child that has put it back', async () => {
    const all = await parentAndChildren();
    const { kernel, parent, note, fork, read } = all;
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, 'tried');
    await kernel.memory.update(child, note, { n: 1 });
    await kernel.memory.update(parent, note, 'ours');
    await kernel.processes.exit(child);
    const skipped = [{ object: note.id, reason: 'same' }];
    expect(await kernel.memory.merge(parent, child)).toEqual({ merged: [], adopted: [], skipped, conflicts: [] });
    expect(await read(parent, note)).toBe('ours');
  });
});
