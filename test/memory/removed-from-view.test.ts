import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../support/invariants.js';
import { lastSeq, stage, toldAfter } from '../support/kernel-fixture.js';
import { type ParentAndChildren, parentAndChildren, readOrCode } from '../support/memory/parent-and-children.js';

const modes = ['restricted', 'copy', 'speculative', 'worker'] as const;

/** Everything that ranges over a view, for one object. */
async function ranges({ kernel }: Pick<ParentAndChildren, 'kernel'>, pid: string, object: string) {
  const { items } = await kernel.memory.query(pid);
  const { roots } = await kernel.memory.view(pid);
  const { manifest } = await kernel.memory.materialize(pid, { tokensMax: 10_000 });
  return [
    items.some(({ id }) => id === object),
    roots.some(({ id }) => id === object),
    manifest.some((entry) => entry.object === object),
  ];
}

const everywhere = [true, true, true];
const nowhere = [false, false, false];

describe('what came with a fork and is taken out of its view', () => {
  it.each(modes)(
    'is left out by queries, contexts and later forks of a %s child, also after a restart',
    async (mode) => {
      // Nothing happened: only what had been added to the view itself could be taken out.
      const all = await parentAndChildren();
      const { kernel, path, note, fork } = all;
      const child = await fork({ mode });
      const before = await fork({ mode: 'copy' }, child);
      expect(await ranges(all, child, note.id)).toEqual(everywhere);
      await kernel.memory.removeFromView(child, note);
      const after = await fork({ mode: 'copy' }, child);
      await kernel.shutdown();
      const again = (await stage({ store: path })).kernel;
      expect(await ranges({ kernel: again }, child, note.id)).toEqual(nowhere);
      expect(await ranges({ kernel: again }, before, note.id)).toEqual(everywhere);
      expect(await ranges({ kernel: again }, after, note.id)).toEqual(nowhere);
      expect([await readOrCode(again, before, note), await readOrCode(again, after, note)]).toEqual([
        { n: 1 },
        'NO_SUCH_OBJECT',
      ]);
      await checkInvariants(again, path);
    },
  );

  it('is there for the parent, for siblings, and for a worker of theirs, but not for a worker of the child', async () => {
    const all = await parentAndChildren();
    const { kernel, parent, note, fork } = all;
    const [child, sibling] = [await fork({ mode: 'copy' }), await fork({ mode: 'copy' })];
    const [ofChild, ofSibling] = [await fork({ mode: 'worker' }, child), await fork({ mode: 'worker' }, sibling)];
    await kernel.memory.removeFromView(child, note);
    for (const pid of [parent, sibling, ofSibling]) expect(await ranges(all, pid, note.id)).toEqual(everywhere);
    for (const pid of [child, ofChild]) expect(await ranges(all, pid, note.id)).toEqual(nowhere);
  });

  it('can still be read and written by who took it out, in its own version, and is merged', async () => {
    const all = await parentAndChildren();
    const { kernel, path, parent, note, fork, read: seen } = all;
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, { n: 2 });
    await kernel.memory.removeFromView(child, note);
    expect(await seen(child, note)).toEqual({ n: 2 });
    await kernel.memory.update(child, note, { n: 3 });
    expect([await seen(child, note), await seen(parent, note)]).toEqual([{ n: 3 }, { n: 1 }]);
    await kernel.processes.exit(child);
    expect((await kernel.memory.merge(parent, child)).merged).toEqual([note.id]);
    expect(await ranges(all, parent, note.id)).toEqual(everywhere);
    await checkInvariants(kernel, path);
  });

  it('comes back with addToView as it was, with no further rights', async () => {
    const all = await parentAndChildren();
    const { kernel, path, parent, note, fork, read: seen, refused } = all;
    const child = await fork({ mode: 'restricted' });
    await kernel.memory.removeFromView(child, note);
    await kernel.memory.update(parent, note, { n: 2 });
    await kernel.memory.addToView(child, note);
    expect([await ranges(all, child, note.id), await seen(child, note)]).toEqual([everywhere, { n: 1 }]);
    const grandchild = await fork({ mode: 'copy' }, child);
    expect([await ranges(all, grandchild, note.id), await seen(grandchild, note)]).toEqual([everywhere, { n: 1 }]);
    for (const pid of [child, grandchild]) {
      expect((await refused(() => kernel.memory.update(pid, note, 3))).code).toBe('NO_SUCH_OBJECT');
    }
    await checkInvariants(kernel, path);
  });

  it('is also the goal of the parent, but never the own one', async () => {
    const all = await parentAndChildren();
    const { kernel, parent, fork } = all;
    const child = await fork();
    const goals = [(await kernel.processes.get(parent)).goal, (await kernel.processes.get(child)).goal];
    for (const goal of goals) await kernel.memory.removeFromView(child, goal);
    expect(await Promise.all(goals.map((goal) => ranges(all, child, goal)))).toEqual([nowhere, everywhere]);
  });

  it('stays out when an entry of the child’s own lay over it', async () => {
    const all = await parentAndChildren();
    const { kernel, note, fork, read: seen } = all;
    const child = await fork({ mode: 'copy' });
    await kernel.capabilities.grant(child, { resource: `object:${note.id}`, rights: ['read'], delegable: true });
    await kernel.memory.addToView(child, note);
    await kernel.memory.removeFromView(child, note);
    expect([await ranges(all, child, note.id), await seen(child, note)]).toEqual([nowhere, { n: 1 }]);
  });

  it('is told once; what is not in the view changes nothing and tells nothing', async () => {
    const { kernel, parent, note, fork, create: make } = await parentAndChildren();
    const child = await fork();
    const foreign = await make(await kernel.processes.spawn({ image: 'worker' }), 'foreign');
    const later = await make(parent, 'later');
    const seq = await lastSeq(kernel);
    for (const ref of [note, note, foreign, later, 'o_nothing']) await kernel.memory.removeFromView(child, ref);
    expect(await toldAfter(kernel, seq)).toEqual([['view.changed', child]]);
    const records = (await kernel.audit.list({ action: 'memory.removeFromView' })).items;
    expect(records.map(({ actor, capability, facts }) => [actor, capability, facts?.object])).toEqual([
      [child, 'kin', note.id],
    ]);
  });

  it('is left out of pages of any size, with what lies before and behind it', async () => {
    const { kernel, parent, fork, create: make } = await parentAndChildren();
    const made: string[] = [];
    for (let n = 0; n < 450; n++) made.push((await make(parent, n)).id);
    const child = await fork({ mode: 'copy' });
    for (const id of made.filter((_, n) => n % 3 !== 0)) await kernel.memory.removeFromView(child, id);
    await kernel.memory.addToView(child, made[1] ?? '');
    const left = made.filter((_, n) => n % 3 === 0 || n === 1);
    const found: string[] = [];
    for (let after: string | undefined = made[0]; after !== undefined; ) {
      const page: { items: { id: string }[]; next?: string } = await kernel.memory.query(child, { after, limit: 7 });
      found.push(...page.items.map(({ id }) => id));
      after = page.next;
    }
    // Goals of parent and child lie before and behind all of them.
    expect(found.filter((id) => made.includes(id))).toEqual(left.slice(1));
  });
});

describe('what was added to a view under a capability that has died', () => {
  it('is added anew under one that lives, and forks have it again', async () => {
    // It counted as being there already, and no fork reached it.
    const all = await parentAndChildren();
    const { kernel, parent, fork, create: make, read: seen } = all;
    const given = await make(await kernel.processes.spawn({ image: 'worker' }), 'given');
    const grant = { resource: `object:${given.id}`, rights: ['read', 'materialize'], delegable: true } as const;
    const { id } = await kernel.capabilities.grant(parent, grant);
    await kernel.memory.addToView(parent, given);
    await kernel.capabilities.revoke(id);
    await kernel.capabilities.grant(parent, grant);
    expect(await seen(await fork(), given)).toBe('NO_SUCH_OBJECT');
    await kernel.memory.addToView(parent, given);
    const child = await fork();
    expect([await seen(child, given), await ranges(all, child, given.id)]).toEqual(['given', everywhere]);
    await checkInvariants(kernel, all.path);
  });
});
