import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../support/invariants.js';
import { eventsAfter, kernelFixture, lastSeq } from '../support/kernel-fixture.js';
import { type ParentAndChildren, parentAndChildren, readOrCode } from '../support/memory/parent-and-children.js';

const modes = ['restricted', 'copy', 'speculative', 'worker'] as const;

/** The syscalls that range over a view, and whether each includes the object. */
async function rangesOver({ kernel }: Pick<ParentAndChildren, 'kernel'>, pid: string, object: string) {
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
      // Regression: only objects with an entry in the view itself could be removed.
      const all = await parentAndChildren();
      const { kernel, path, note, fork } = all;
      const child = await fork({ mode });
      const before = await fork({ mode: 'copy' }, child);
      expect(await rangesOver(all, child, note.id)).toEqual(everywhere);
      await kernel.memory.removeFromView(child, note);
      const after = await fork({ mode: 'copy' }, child);
      await kernel.shutdown();
      const again = (await kernelFixture({ store: path })).kernel;
      expect(await rangesOver({ kernel: again }, child, note.id)).toEqual(nowhere);
      expect(await rangesOver({ kernel: again }, before, note.id)).toEqual(everywhere);
      expect(await rangesOver({ kernel: again }, after, note.id)).toEqual(nowhere);
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
    for (const pid of [parent, sibling, ofSibling]) expect(await rangesOver(all, pid, note.id)).toEqual(everywhere);
    for (const pid of [child, ofChild]) expect(await rangesOver(all, pid, note.id)).toEqual(nowhere);
  });

  it('can still be read and written by who took it out, in its own version, and is merged', async () => {
    const all = await parentAndChildren();
    const { kernel, path, parent, note, fork, read } = all;
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, { n: 2 });
    await kernel.memory.removeFromView(child, note);
    expect(await read(child, note)).toEqual({ n: 2 });
    await kernel.memory.update(child, note, { n: 3 });
    expect([await read(child, note), await read(parent, note)]).toEqual([{ n: 3 }, { n: 1 }]);
    await kernel.processes.exit(child);
    expect((await kernel.memory.merge(parent, child)).merged).toEqual([note.id]);
    expect(await rangesOver(all, parent, note.id)).toEqual(everywhere);
    await checkInvariants(kernel, path);
  });

  it('comes back with addToView as it was, with no further rights', async () => {
    const all = await parentAndChildren();
    const { kernel, path, parent, note, fork, read, refused } = all;
    const child = await fork({ mode: 'restricted' });
    await kernel.memory.removeFromView(child, note);
    await kernel.memory.update(parent, note, { n: 2 });
    await kernel.memory.addToView(child, note);
    expect([await rangesOver(all, child, note.id), await read(child, note)]).toEqual([everywhere, { n: 1 }]);
    const grandchild = await fork({ mode: 'copy' }, child);
    expect([await rangesOver(all, grandchild, note.id), await read(grandchild, note)]).toEqual([everywhere, { n: 1 }]);
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
    expect(await Promise.all(goals.map((goal) => rangesOver(all, child, goal)))).toEqual([nowhere, everywhere]);
  });

  it('stays out when an entry of the child’s own lay over it', async () => {
    const all = await parentAndChildren();
    const { kernel, note, fork, read } = all;
    const child = await fork({ mode: 'copy' });
    await kernel.capabilities.grant(child, { resource: `object:${note.id}`, rights: ['read'], delegable: true });
    await kernel.memory.addToView(child, note);
    await kernel.memory.removeFromView(child, note);
    expect([await rangesOver(all, child, note.id), await read(child, note)]).toEqual([nowhere, { n: 1 }]);
  });

  it('is told once; what is not in the view changes nothing and tells nothing', async () => {
    const { kernel, parent, note, fork, create } = await parentAndChildren();
    const child = await fork();
    const foreign = await create(await kernel.processes.spawn({ image: 'worker' }), 'foreign');
    const later = await create(parent, 'later');
    const seq = await lastSeq(kernel);
    for (const ref of [note, note, foreign, later, 'o_nothing']) await kernel.memory.removeFromView(child, ref);
    expect(await eventsAfter(kernel, seq)).toEqual([['view.changed', child]]);
    const records = (await kernel.audit.list({ action: 'memory.removeFromView' })).items;
    expect(records.map(({ actor, capability, facts }) => [actor, capability, facts?.object])).toEqual([
      [child, 'kin', note.id],
    ]);
  });

  it('is left out of pages of any size, with what lies before and behind it', async () => {
    const { kernel, parent, fork, create } = await parentAndChildren();
    const made: string[] = [];
    for (let n = 0; n < 450; n++) made.push((await create(parent, n)).id);
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
    // In the order of ids, the goals of parent and child are before and after all of them.
    expect(found.filter((id) => made.includes(id))).toEqual(left.slice(1));
  });
});

describe('what was added to a view under a capability that has died', () => {
  it('is added anew under one that lives, and forks have it again', async () => {
    // Regression: it counted as present, but forks could not inherit it.
    const all = await parentAndChildren();
    const { kernel, parent, fork, create, read } = all;
    const given = await create(await kernel.processes.spawn({ image: 'worker' }), 'given');
    const grant = { resource: `object:${given.id}`, rights: ['read', 'materialize'], delegable: true } as const;
    const { id } = await kernel.capabilities.grant(parent, grant);
    await kernel.memory.addToView(parent, given);
    await kernel.capabilities.revoke(id);
    await kernel.capabilities.grant(parent, grant);
    expect(await read(await fork(), given)).toBe('NO_SUCH_OBJECT');
    await kernel.memory.addToView(parent, given);
    const child = await fork();
    expect([await read(child, given), await rangesOver(all, child, given.id)]).toEqual(['given', everywhere]);
    await checkInvariants(kernel, all.path);
  });
});
