import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { type ParentAndChildren, parentAndChildren } from '../support/memory/parent-and-children.js';

/** A parent and its ended child, both of which have changed an object since the fork. */
async function changedByBoth(
  base: JsonValue,
  ours: JsonValue,
  theirs: JsonValue,
): Promise<ParentAndChildren & { readonly child: string; readonly object: ParentAndChildren['note'] }> {
  const all = await parentAndChildren();
  const { kernel, parent } = all;
  const object = await all.create(parent, base);
  const child = await all.fork({ mode: 'copy' });
  await kernel.memory.update(child, object, theirs);
  await kernel.memory.update(parent, object, ours);
  await kernel.processes.exit(child);
  return { ...all, child, object };
}

const merges: [what: string, base: JsonValue, ours: JsonValue, theirs: JsonValue, merged: JsonValue][] = [
  ['different members', { a: 1, b: 1, c: 1 }, { a: 2, b: 1, c: 1 }, { a: 1, b: 3, c: 1 }, { a: 2, b: 3, c: 1 }],
  ['members at any depth', { a: { x: 1, y: 1 } }, { a: { x: 2, y: 1 } }, { a: { x: 1, y: 2 } }, { a: { x: 2, y: 2 } }],
  ['additions', { a: 1 }, { a: 1, b: 2 }, { a: 1, c: 3 }, { a: 1, b: 2, c: 3 }],
  [
    'additions in objects that both have added',
    {},
    { found: { b: 2 } },
    { found: { c: 3 } },
    { found: { b: 2, c: 3 } },
  ],
  ['a removal and a change elsewhere', { a: 1, b: 1 }, { b: 1 }, { a: 1, b: 2 }, { b: 2 }],
  ['the same change, and one more', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 2, b: 2 }, { a: 2, b: 2 }],
  ['elements of lists that stayed as long', { list: [1, 1] }, { list: [2, 1] }, { list: [1, 2] }, { list: [2, 2] }],
  [
    'a list that one side has changed',
    { list: [1], n: 1 },
    { list: [1, 2], n: 1 },
    { list: [1], n: 2 },
    { list: [1, 2], n: 2 },
  ],
  ['names of every kind', { 'a/b': 1, '': 1 }, { 'a/b': 2, '': 1 }, { 'a/b': 1, '': 2 }, { 'a/b': 2, '': 2 }],
];

const conflicts: [what: string, base: JsonValue, ours: JsonValue, theirs: JsonValue, paths: string[]][] = [
  ['one member', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 3, b: 2 }, ['/a']],
  ['members at any depth', { a: { x: 1, y: 1 } }, { a: { x: 2, y: 2 } }, { a: { x: 3, y: 3 } }, ['/a/x', '/a/y']],
  ['what one side has removed', { a: 1, b: 1 }, { b: 1 }, { a: 2, b: 1 }, ['/a']],
  ['what both have added', {}, { a: 1 }, { a: 2 }, ['/a']],
  ['a list that got longer on both sides', { list: [] }, { list: [1] }, { list: [2] }, ['/list']],
  ['a member that is an object on one side', { a: 1 }, { a: { x: 1 } }, { a: [1] }, ['/a']],
  ['a name with a slash and a tilde', { 'a/b~': 1 }, { 'a/b~': 2 }, { 'a/b~': 3 }, ['/a~1b~0']],
  ['the whole payload', 'a', 'b', 'c', ['']],
];

describe("merge with policy 'fields'", () => {
  it.each(merges)('merges %s', async (_what, base, ours, theirs, merged) => {
    const { kernel, path, parent, child, object, read } = await changedByBoth(base, ours, theirs);
    const result = await kernel.memory.merge(parent, child, 'fields');
    expect(result).toMatchObject({ merged: [object.id], conflicts: [] });
    expect(await read(parent, object)).toEqual(merged);
    await checkInvariants(kernel, path);
  });

  it.each(conflicts)(
    'refuses %s when both have changed it, and names the path',
    async (_what, base, ours, theirs, paths) => {
      const { kernel, parent, child, object, refused, read } = await changedByBoth(base, ours, theirs);
      const { code, facts } = await refused(() => kernel.memory.merge(parent, child, 'fields'));
      expect([code, facts]).toMatchObject(['MERGE_CONFLICT', { conflicts: [{ object: object.id, paths }] }]);
      expect(await read(parent, object)).toEqual(ours);
      expect((await kernel.memory.merge(parent, child, 'theirs')).merged).toEqual([object.id]);
    },
  );

  it('changes nothing when one of several objects is in conflict, and names only that one', async () => {
    const all = await parentAndChildren();
    const { kernel, parent, note, read } = all;
    const other = await all.create(parent, { a: 1, b: 1 });
    const child = await all.fork({ mode: 'copy' });
    await kernel.memory.update(child, note, { n: 2 });
    await kernel.memory.update(child, other, { a: 2, b: 1 });
    await kernel.memory.update(parent, note, { n: 3 });
    await kernel.memory.update(parent, other, { a: 1, b: 2 });
    await kernel.processes.exit(child);
    const { facts } = await all.refused(() => kernel.memory.merge(parent, child, 'fields'));
    expect((facts as { conflicts: { object: string }[] }).conflicts.map(({ object }) => object)).toEqual([note.id]);
    expect([await read(parent, note), await read(parent, other)]).toEqual([{ n: 3 }, { a: 1, b: 2 }]);
  });

  it('writes no version where the parent has everything already', async () => {
    const { kernel, parent, child, object } = await changedByBoth({ a: 1, b: 1 }, { a: 2, b: 2 }, { a: 2, b: 1 });
    const { merged, skipped } = await kernel.memory.merge(parent, child, 'fields');
    expect([merged, skipped]).toEqual([[], [{ object: object.id, reason: 'same' }]]);
    expect((await kernel.memory.read(parent, object)).version).toBe(2);
  });

  it('is not the default', async () => {
    const { kernel, parent, child, refused } = await changedByBoth({ a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 2 });
    expect((await refused(() => kernel.memory.merge(parent, child))).code).toBe('MERGE_CONFLICT');
    expect((await refused(() => kernel.memory.merge(parent, child, 'members' as 'fields'))).code).toBe('INVALID_INPUT');
  });
});
