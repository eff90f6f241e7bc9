import { describe, expect, it } from 'vitest';
import type { Link, ObjectHandle, Relation } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { eventsAfter, kernelFixture, lastSeq } from '../support/kernel-fixture.js';
import {
  type OwnerAndStranger,
  ownerAndStranger,
  refusalDetails,
  unknownId,
} from '../support/memory/owner-and-stranger.js';

type Letters = Readonly<Record<string, ObjectHandle>>;

/** Objects of the owner, named by letters, and a function that shows links by those letters. */
async function createLettered(
  letters: string,
): Promise<OwnerAndStranger & { at: Letters; show(links: readonly Link[]): string[] }> {
  const set = await ownerAndStranger();
  const at: Record<string, ObjectHandle> = {};
  for (const letter of letters) at[letter] = await set.note(letter);
  const names = new Map(Object.entries(at).map(([letter, { id }]) => [id, letter]));
  const show = (links: readonly Link[]) =>
    links.map(({ source, relation, target }) => `${names.get(source)} ${relation} ${names.get(target)}`);
  return { ...set, at, show };
}

const to = (at: Letters, letter: string): ObjectHandle => {
  const handle = at[letter];
  if (handle === undefined) throw new Error(`there is no ${letter}`);
  return handle;
};

/** Creates links given as `ab references`. */
async function createLinks({ kernel, owner }: OwnerAndStranger, at: Letters, ...links: string[]): Promise<void> {
  for (const link of links) {
    const [ends = '', relation] = link.split(' ');
    await kernel.memory.link(owner, to(at, ends.charAt(0)), to(at, ends.charAt(1)), relation as Relation);
  }
}

describe('a link', () => {
  it('says what leads where, by whom and when, once and for all', async () => {
    const { kernel, path, owner, at } = await createLettered('ab');
    const [a, b] = [to(at, 'a'), to(at, 'b')];
    const before = await lastSeq(kernel);
    await kernel.memory.link(owner, a, b, 'supports');
    await kernel.memory.link(owner, a.id, b.id, 'supports');
    expect(await eventsAfter(kernel, before)).toEqual([['object.linked', owner]]);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    const [link, ...others] = await again.memory.links(owner, a);
    expect([link, others]).toEqual([
      { source: a.id, relation: 'supports', target: b.id, madeBy: owner, madeAt: link?.madeAt },
      [],
    ]);
    await checkInvariants(again, path);
  });

  it('needs link on the source and read on the target', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const [source, target] = [await note('source'), await note('target')];
    const link = () => kernel.memory.link(stranger, source, target, 'references');
    await kernel.memory.share(owner, stranger, source, ['read', 'write', 'diff']);
    await kernel.memory.share(owner, stranger, target, ['read', 'link']);
    expect((await refused(link)).code).toBe('NO_SUCH_OBJECT');
    await kernel.memory.share(owner, stranger, source, ['link']);
    await link();
    const unread = await note('unread');
    await kernel.memory.share(owner, stranger, unread, ['link', 'write', 'diff']);
    const toUnread = () => kernel.memory.link(stranger, source, unread, 'references');
    expect((await refused(toUnread)).code).toBe('NO_SUCH_OBJECT');
    await kernel.memory.link(stranger, unread, target, 'references');
  });

  it('to or from what may not be used is not told from one of what is not there', async () => {
    const { kernel, stranger, note, refused } = await ownerAndStranger();
    const foreign = (await note()).id;
    const mine = await kernel.memory.create(stranger, { type: 'claim', payload: 1 });
    const face = kernel.as(stranger).memory;
    for (const call of [
      (id: string) => face.link(mine, id, 'supports'),
      (id: string) => face.link(id, mine, 'supports'),
      (id: string) => face.links(id),
    ]) {
      expect(await refusalDetails(() => call(foreign), foreign)).toMatchObject({ code: 'NO_SUCH_OBJECT' });
      expect(await refusalDetails(() => call(foreign), foreign)).toEqual(
        await refusalDetails(() => call(unknownId), unknownId),
      );
      await refused(() => call(foreign));
    }
  });

  it('of an unknown relation, and a look of an unknown form, is refused', async () => {
    const { kernel, owner, at, refused } = await createLettered('ab');
    for (const relation of ['', 'likes', 'SUPPORTS', undefined, 1]) {
      const call = () => kernel.memory.link(owner, to(at, 'a'), to(at, 'b'), relation as Relation);
      expect((await refused(call)).code).toBe('INVALID_INPUT');
    }
    const options = [
      { depth: 0 },
      { depth: 17 },
      { depth: 1.5 },
      { relation: 'likes' },
      { direction: 'up' },
      { odd: 1 },
    ];
    for (const odd of options) {
      expect((await refused(() => kernel.memory.links(owner, to(at, 'a'), odd as never))).code).toBe('INVALID_INPUT');
    }
  });
});

describe('following links', () => {
  it('goes by relation, direction and depth', async () => {
    const set = await createLettered('abcde');
    const { kernel, owner, at, show } = set;
    await createLinks(set, at, 'ab supports', 'bc supports', 'cd supports', 'ac references', 'ea part_of');
    const follow = async (letter: string, options: object) =>
      show(await kernel.memory.links(owner, to(at, letter), options)).sort();
    expect({
      plain: await follow('a', {}),
      relation: await follow('a', { relation: 'supports' }),
      deeper: await follow('a', { relation: 'supports', depth: 2 }),
      deepest: await follow('a', { depth: 16 }),
      incoming: await follow('c', { direction: 'in' }),
      incomingDeeper: await follow('c', { direction: 'in', depth: 3 }),
      both: await follow('a', { direction: 'both' }),
      none: await follow('d', {}),
    }).toEqual({
      plain: ['a references c', 'a supports b'],
      relation: ['a supports b'],
      deeper: ['a supports b', 'b supports c'],
      deepest: ['a references c', 'a supports b', 'b supports c', 'c supports d'],
      incoming: ['a references c', 'b supports c'],
      incomingDeeper: ['a references c', 'a supports b', 'b supports c', 'e part_of a'],
      both: ['a references c', 'a supports b', 'e part_of a'],
      none: [],
    });
  });

  it('ends in a cycle, and shows each link once', async () => {
    const set = await createLettered('abc');
    const { kernel, path, owner, at, show } = set;
    await createLinks(set, at, 'ab depends_on', 'bc depends_on', 'ca depends_on', 'aa references');
    const expected = ['a depends_on b', 'a references a', 'b depends_on c', 'c depends_on a'];
    for (const direction of ['out', 'in', 'both'] as const) {
      const found = await kernel.memory.links(owner, to(at, 'a'), { depth: 16, direction });
      expect(show(found).sort()).toEqual(expected);
    }
    await checkInvariants(kernel, path);
  });

  it('never shows an end that may not be read, nor what lies behind it', async () => {
    const set = await createLettered('abcd');
    const { kernel, owner, stranger, at, show } = set;
    await createLinks(set, at, 'ab supports', 'bc supports', 'da supports');
    for (const letter of ['a', 'c']) await kernel.memory.share(owner, stranger, to(at, letter), ['read']);
    const face = kernel.as(stranger).memory;
    expect(await face.links(to(at, 'a'), { depth: 16, direction: 'both' })).toEqual([]);
    expect(await face.links(to(at, 'c'), { depth: 16, direction: 'both' })).toEqual([]);
    const shared = await kernel.memory.share(owner, stranger, to(at, 'b'), ['read']);
    expect(show(await face.links(to(at, 'a'), { depth: 16, direction: 'both' })).sort()).toEqual([
      'a supports b',
      'b supports c',
    ]);
    await kernel.capabilities.revoke(shared.capability);
    expect(await face.links(to(at, 'a'), { depth: 16 })).toEqual([]);
  });

  it('of one relation finds it behind any number of others', async () => {
    const set = await createLettered('ab');
    const { kernel, owner, at, show, note } = set;
    for (let n = 0; n < 30; n++) await kernel.memory.link(owner, to(at, 'a'), await note(n), 'derived_from');
    await createLinks(set, at, 'ab supports');
    expect(show(await kernel.memory.links(owner, to(at, 'a'), { relation: 'supports' }))).toEqual(['a supports b']);
  });
});
