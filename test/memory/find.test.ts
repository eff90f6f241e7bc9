import { describe, expect, it } from 'vitest';
import type { ObjectFilter } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { ownerAndStranger, refusalDetails } from '../support/memory/owner-and-stranger.js';

describe('looking up a name', () => {
  it('finds what has it in the process’s own namespace, or in the one that is named', async () => {
    const long = Array(30).fill('a-long-segment').join('/');
    const { kernel, path, owner, note } = await ownerAndStranger({
      resource: 'ns:a-long-segment/**',
      rights: ['create', 'read'],
    });
    const own = await note(1, { name: 'n' });
    const shared = await note(2, { name: 'n', namespace: long });
    await kernel.shutdown();
    const { memory } = (await kernelFixture({ store: path })).kernel;
    const found = [await memory.lookup(owner, 'n'), await memory.lookup(owner, 'n', long)];
    expect(found.map((handle) => handle.toJSON())).toEqual([own.toJSON(), shared.toJSON()]);
  });

  it('tells a caller without rights nothing', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note(1, { name: 'secret' });
    await kernel.memory.share(owner, stranger, handle, ['write', 'link']);
    const face = kernel.as(stranger).memory;
    const look = (name: string) => refusalDetails(() => face.lookup(name, `process/${owner}`), name);
    expect(await look('secret')).toMatchObject({ code: 'NO_SUCH_OBJECT' });
    expect(await look('secret')).toEqual(await look('public'));
    await refused(() => face.lookup('secret', `process/${owner}`));
    await kernel.memory.share(owner, stranger, handle, ['read']);
    expect((await face.lookup('secret', `process/${owner}`)).id).toBe(handle.id);
  });

  it('that is no name is refused', async () => {
    const { kernel, owner, refused } = await ownerAndStranger();
    for (const args of [[''], ['a\0b'], [5], [null], ['n', ''], ['n', 'a//b'], ['n', '*'], ['n', 5]]) {
      const call = () => kernel.memory.lookup(owner, ...(args as [string]));
      expect([args, (await refused(call)).code]).toEqual([args, 'INVALID_INPUT']);
    }
  });
});

describe('a query', () => {
  it('selects by type, tags, name, namespace, maker and text', async () => {
    const { kernel, path, owner, stranger, note } = await ownerAndStranger({
      resource: 'ns:team/**',
      rights: ['create', 'read', 'grant'],
      delegable: true,
    });
    const made = {
      plan: await note({ do: 'Buy Äpfel' }, { type: 'plan', name: 'plan', tags: ['x', 'y'] }),
      claim: await note('50%_off', { tags: ['x'], title: 'A Title' }),
      team: await note(3, { type: 'evidence', namespace: 'team/a', name: 'in the team' }),
    };
    const given = await kernel.memory.create(stranger, { type: 'claim', payload: 'given' });
    await kernel.memory.share(stranger, owner, given, ['read']);
    await kernel.memory.addToView(owner, given);
    const names = new Map(Object.entries({ ...made, given }).map(([name, { id }]) => [id, name]));
    const found = async (filter: ObjectFilter) => {
      const { items } = await kernel.memory.query(owner, filter);
      return items.map(({ id }) => names.get(id) ?? 'goal').join(' ');
    };
    expect({
      all: await found({}),
      types: await found({ types: ['plan', 'evidence'] }),
      oneTag: await found({ tags: ['x'] }),
      bothTags: await found({ tags: ['y', 'x'] }),
      name: await found({ name: 'plan' }),
      namespace: await found({ namespace: 'team/a' }),
      above: await found({ namespace: 'team' }),
      maker: await found({ createdBy: stranger }),
      text: await found({ text: 'äPFEL' }),
      textInTitle: await found({ text: 'a title' }),
      textInName: await found({ text: 'THE TEAM' }),
      textAsItIs: await found({ text: '%_' }),
      several: await found({ types: ['claim'], tags: ['x'], createdBy: owner, text: 'off' }),
      nothing: await found({ types: [] }),
      noOne: await found({ types: ['claim'], name: 'plan' }),
    }).toEqual({
      all: 'goal plan claim team given',
      types: 'plan team',
      oneTag: 'plan claim',
      bothTags: 'plan',
      name: 'plan',
      namespace: 'team',
      above: '',
      maker: 'given',
      text: 'plan',
      textInTitle: 'claim',
      textInName: 'team',
      textAsItIs: 'claim',
      several: 'claim',
      nothing: '',
      noOne: '',
    });
    await checkInvariants(kernel, path);
  });

  it('goes page by page over everything once, also when nearly nothing is selected', async () => {
    const { kernel, owner, note } = await ownerAndStranger();
    const all: string[] = [];
    for (let n = 0; n < 25; n++) all.push((await note(n, { tags: n % 10 === 3 ? ['rare'] : ['common'] })).id);
    const pages = async (filter: ObjectFilter) => {
      const seen: string[][] = [];
      for (let after: string | undefined, more = true; more; ) {
        const page = await kernel.memory.query(owner, { ...filter, ...(after === undefined ? {} : { after }) });
        seen.push(page.items.map(({ id }) => id));
        after = page.next;
        more = after !== undefined;
      }
      return seen;
    };
    const sevens = await pages({ types: ['claim'], limit: 7 });
    expect(sevens.map((page) => page.length)).toEqual([7, 7, 7, 4]);
    expect(sevens.flat()).toEqual(all);
    expect((await pages({ tags: ['rare'], limit: 1 })).flat()).toEqual([all[3], all[13], all[23]]);
    expect(await kernel.memory.query(owner, { types: ['claim'] })).not.toHaveProperty('next');
  });

  it('shows what the view holds and the process may read now, and nothing else', async () => {
    const { kernel, owner, stranger, note } = await ownerAndStranger();
    const [kept, revoked, outside] = [await note('kept'), await note('revoked'), await note('outside')];
    const shares = [];
    for (const handle of [kept, revoked, outside]) {
      shares.push(await kernel.memory.share(owner, stranger, handle, ['read']));
    }
    for (const handle of [kept, revoked]) await kernel.memory.addToView(stranger, handle);
    await kernel.capabilities.revoke(shares[1]?.capability ?? '');
    const { items } = await kernel.as(stranger).memory.query({ types: ['claim'] });
    expect(items).toEqual([await kernel.memory.read(owner, kept)]);
  });

  it('of an unknown form is refused', async () => {
    const { kernel, owner, refused } = await ownerAndStranger();
    const odd = [
      { types: ['thing'] },
      { types: 'plan' },
      { tags: [1] },
      { name: '' },
      { text: '' },
      { text: 5 },
      { limit: 0 },
      { limit: 10_001 },
      { limit: 1.5 },
      { after: 5 },
      { title: 'x' },
      [],
      'plan',
      null,
    ];
    for (const filter of odd) {
      const call = () => kernel.memory.query(owner, filter as never);
      expect([filter, (await refused(call)).code]).toEqual([filter, 'INVALID_INPUT']);
    }
  });
});
