import { describe, expect, it } from 'vitest';
import type { ForkSpec, Right } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { kernelFixture, manualClock } from '../support/kernel-fixture.js';
import { parentAndChildren } from '../support/memory/parent-and-children.js';

const all: readonly Right[] = ['read', 'write', 'delete', 'link', 'diff', 'materialize', 'grant'];

describe('the view of a fork can be narrowed', () => {
  it.each<[string, NonNullable<ForkSpec['view']>, string[]]>([
    ['types', { types: ['plan', 'error'] }, ['plan']],
    ['tags', { tags: ['red', 'blue'] }, ['plan', 'red']],
    ['several of them', { types: ['claim'], tags: ['red'] }, ['red']],
    ['nothing that there is', { types: ['error'] }, []],
  ])('to %s', async (_, view, expected) => {
    const { kernel, parent, fork, create } = await parentAndChildren();
    await create(parent, 'plan', { type: 'plan', tags: ['blue'] });
    await create(parent, 'red', { tags: ['red', 'old'] });
    const child = await fork({ mode: 'copy', view });
    const { items } = await kernel.memory.query(child, {});
    const own = (await kernel.processes.get(child)).goal;
    expect(items.filter(({ id }) => id !== own).map(({ payload }) => payload)).toEqual(expected);
  });

  it('to roots: everything else is closed, its name is told nowhere', async () => {
    // Regression: the manifest named objects that the narrowing left out.
    const { kernel, parent, note, fork, create, read, inView } = await parentAndChildren();
    const other = await create(parent, 'other');
    const child = await fork({ mode: 'copy', view: { roots: [note] } });
    const later = await fork({ mode: 'worker', view: { roots: [note.id] } }, child);
    for (const pid of [child, later]) {
      expect([await inView(pid), await read(pid, other)]).toEqual([[note.id], 'NO_SUCH_OBJECT']);
      expect((await refusal(kernel.memory.update(pid, other, 1))).code).toBe('NO_SUCH_OBJECT');
      const { text, manifest } = await kernel.memory.materialize(pid, { tokensMax: 1_000 });
      expect(JSON.stringify([text, manifest]).includes(other.id)).toBe(false);
    }
  });

  it('only to roots that the parent sees', async () => {
    const { kernel, parent, create, refused, fork } = await parentAndChildren();
    const foreign = await create(await kernel.processes.spawn({ image: 'worker' }), 1);
    for (const root of [foreign, foreign.id, 'o_nothing']) {
      expect((await refused(() => fork({ view: { roots: [root] } }))).code).toBe('NO_SUCH_OBJECT');
    }
    expect(await kernel.processes.children(parent)).toEqual([]);
  });

  it('only to roots that are in the view of the parent, and that it may hand on', async () => {
    // Regression: such roots were accepted, and the child could not use them.
    const { kernel, parent, note, create, refused, fork, read } = await parentAndChildren();
    const other = await kernel.processes.spawn({ image: 'worker' });
    const [lent, kept] = [await create(other, 'lent'), await create(other, 'kept')];
    const grant = (id: string, more: object) =>
      kernel.capabilities.grant(parent, { resource: `object:${id}`, rights: ['read'], ...more });
    await grant(lent.id, { delegable: true });
    await grant(kept.id, {});
    await kernel.memory.addToView(parent, kept);
    await kernel.memory.removeFromView(parent, note);
    for (const mode of ['restricted', 'copy', 'speculative', 'worker'] as const) {
      for (const object of [lent, kept, note]) {
        expect(await refused(() => fork({ mode, view: { roots: [object] } }))).toEqual({
          code: 'NO_SUCH_OBJECT',
          facts: { pid: parent, object: object.id },
        });
      }
    }
    await kernel.memory.addToView(parent, lent);
    await kernel.memory.addToView(parent, note);
    const child = await fork({ view: { roots: [lent, note.id, (await kernel.processes.get(parent)).goal] } });
    expect([await read(child, lent), await read(child, note)]).toEqual(['lent', { n: 1 }]);
    const grandchild = await fork({ view: { roots: [lent] } }, child);
    expect([await read(grandchild, lent), await read(grandchild, note)]).toEqual(['lent', 'NO_SUCH_OBJECT']);
    expect((await refused(() => fork({ view: { roots: [note] } }, grandchild))).code).toBe('NO_SUCH_OBJECT');
  });

  it('only to rights that the entry in the view of the parent has', async () => {
    // Regression: the rights of all the parent's capabilities were checked, not those of the entry.
    const { kernel, parent, create, refused, fork } = await parentAndChildren();
    const given = await create(await kernel.processes.spawn({ image: 'worker' }), 1);
    const resource = `object:${given.id}`;
    await kernel.capabilities.grant(parent, { resource, rights: ['read'], delegable: true });
    await kernel.memory.addToView(parent, given);
    await kernel.capabilities.grant(parent, { resource, rights: ['write'] });
    await kernel.memory.update(parent, given, 2);
    const view = { roots: [given], rights: ['read', 'write'] as const };
    expect(await refused(() => fork({ mode: 'copy', view }))).toMatchObject({
      code: 'AMPLIFICATION',
      facts: { field: 'view.rights', right: 'write' },
    });
  });

  it('only to rights that the parent has', async () => {
    const { kernel, parent, create, refused, fork } = await parentAndChildren();
    const other = await kernel.processes.spawn({ image: 'worker' });
    const given = await create(other, 1);
    await kernel.capabilities.grant(parent, {
      resource: `object:${given.id}`,
      rights: ['read', 'diff'],
      delegable: true,
    });
    await kernel.memory.addToView(parent, given.id);
    expect(await refused(() => fork({ view: { roots: [given.id], rights: ['read', 'write'] } }))).toMatchObject({
      code: 'AMPLIFICATION',
      facts: { field: 'view.rights', object: given.id, right: 'write' },
    });
    const child = await fork({ mode: 'copy', view: { roots: [given.id], rights: ['read', 'diff'] } });
    expect(await kernel.memory.diff(child, given.id, given.id)).toEqual([]);
  });

  it.each<[ForkSpec, readonly string[]]>([
    [{ mode: 'restricted' }, ['read', 'diff', 'materialize']],
    [{ mode: 'worker' }, ['read', 'diff', 'materialize']],
    [{ mode: 'copy' }, ['read', 'write', 'diff', 'materialize']],
    [{ mode: 'speculative' }, ['read', 'write', 'diff', 'materialize']],
    [{ mode: 'copy', view: { rights: ['read', 'materialize'] } }, ['read', 'materialize']],
    [{ mode: 'restricted', view: { rights: ['read', 'write'] } }, ['read']],
    [{ mode: 'copy', view: { rights: ['read', 'delete', 'grant'] } }, ['read']],
  ])('%j leaves the rights %j, and a handle says so', async (spec, rights) => {
    const { kernel, path, note, fork } = await parentAndChildren();
    const child = await fork(spec);
    const root = (await kernel.memory.view(child)).roots.find(({ id }) => id === note.id);
    expect([...(root?.rights ?? [])].sort()).toEqual([...rights].sort());
    expect(root?.capability).toBe(note.capability);
    const { memory } = kernel;
    const tries: Record<string, () => Promise<unknown>> = {
      read: () => memory.read(child, note),
      write: () => memory.update(child, note, 2),
      diff: () => memory.diff(child, note, note),
      delete: () => memory.delete(child, note),
      link: () => memory.link(child, note, note, 'references'),
      grant: () => kernel.memory.share(child, child, note, ['read']),
    };
    const allowed: string[] = [];
    for (const [right, call] of Object.entries(tries)) {
      await call().then(
        () => allowed.push(right),
        (error: unknown) => expect(error).toMatchObject({ code: 'NO_SUCH_OBJECT' }),
      );
    }
    const { manifest } = await memory.materialize(child, { tokensMax: 1_000 });
    if (manifest.some(({ object, included }) => object === note.id && included)) allowed.push('materialize');
    expect(allowed.sort()).toEqual([...rights].sort());
    await checkInvariants(kernel, path);
  });

  it('and a fork of it has no more, whatever was added to the view in between', async () => {
    // Regression: an object was added with all the rights of its capability.
    const { kernel, note, fork, read } = await parentAndChildren();
    const child = await fork({ mode: 'copy', view: { rights: ['read'] } });
    await kernel.memory.addToView(child, note);
    const grandchild = await fork({ mode: 'copy' }, child);
    expect(await read(grandchild, note)).toEqual({ n: 1 });
    for (const call of [
      () => kernel.memory.update(grandchild, note, 2),
      () => kernel.memory.diff(grandchild, note, note),
    ]) {
      expect((await refusal(call())).code).toBe('NO_SUCH_OBJECT');
    }
  });
});

describe('a snapshot is not authority', () => {
  it('a capability that is revoked closes what was forked under it at once', async () => {
    const { kernel, path, parent, fork, create, read } = await parentAndChildren();
    const given = await create(await kernel.processes.spawn({ image: 'worker' }), 'given');
    const { id } = await kernel.capabilities.grant(parent, {
      resource: `object:${given.id}`,
      rights: ['read', 'write'],
      delegable: true,
    });
    await kernel.memory.addToView(parent, given.id);
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, given.id, 'mine');
    expect(await read(child, given)).toBe('mine');
    await kernel.capabilities.revoke(id);
    expect([await read(parent, given), await read(child, given)]).toEqual(['NO_SUCH_OBJECT', 'NO_SUCH_OBJECT']);
    expect((await refusal(kernel.memory.update(child, given.id, 2))).code).toBe('NO_SUCH_OBJECT');
    await checkInvariants(kernel, path);
  });

  it('and one that expires does the same', async () => {
    const clock = manualClock();
    const { kernel, parent, fork, create, read } = await parentAndChildren(await kernelFixture({ clock }));
    const given = await create(await kernel.processes.spawn({ image: 'worker' }), 'given');
    const expiresAt = clock.now() + 1_000;
    const spec = { resource: `object:${given.id}`, rights: ['read'], delegable: true, expiresAt } as const;
    await kernel.capabilities.grant(parent, spec);
    await kernel.memory.addToView(parent, given.id);
    const child = await fork();
    expect(await read(child, given)).toBe('given');
    clock.advance(2_000);
    expect(await read(child, given)).toBe('NO_SUCH_OBJECT');
  });

  it.each([
    ['cannot be handed on', { rights: ['read', 'write'] }],
    ['can be handed on, but not for reading', { rights: ['read', 'write', 'grant'], grantable: ['write'] }],
    ['has finite uses', { rights: all, delegable: true, uses: 9 }],
  ] as const)('a capability that %s is not reached through a fork', async (_, given) => {
    const { kernel, parent, fork, create, read, inView, note } = await parentAndChildren();
    const other = await create(await kernel.processes.spawn({ image: 'worker' }), 'given');
    await kernel.capabilities.grant(parent, { resource: `object:${other.id}`, ...given });
    await kernel.memory.addToView(parent, other.id);
    expect(await read(parent, other)).toBe('given');
    const child = await fork({ mode: 'copy' });
    expect([await inView(child), await read(child, other)]).toEqual([[note.id], 'NO_SUCH_OBJECT']);
  });

  it('a deny rule on the child binds it, by either name of the object, and not its sibling', async () => {
    const { kernel, path, parent, note, fork, read } = await parentAndChildren();
    for (const resource of [`object:${note.id}`, `ns:process/${parent}/**`]) {
      const [child, sibling] = [await fork({ mode: 'copy' }), await fork({ mode: 'copy' })];
      const rule = await kernel.capabilities.deny(child, { resource, rights: ['read'] });
      expect([await read(child, note), await read(sibling, note)]).toEqual(['NO_SUCH_OBJECT', { n: 1 }]);
      await kernel.capabilities.lift(rule.id);
      expect(await read(child, note)).toEqual({ n: 1 });
    }
    await checkInvariants(kernel, path);
  });

  it('the end of the parent closes what its fork had from it', async () => {
    const { kernel, parent, note, fork, create, read } = await parentAndChildren();
    const child = await fork({ mode: 'copy', onParentExit: 'detach' });
    await kernel.memory.update(child, note, 'mine');
    const own = await create(child, 'own');
    await kernel.processes.exit(parent);
    expect([await read(child, note), await read(child, own)]).toEqual(['NO_SUCH_OBJECT', 'own']);
  });
});
