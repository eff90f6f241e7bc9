import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { parentAndChildren, readOrCode } from '../support/memory/parent-and-children.js';

describe('a view', () => {
  it('lists what a process made, and what was added to it', async () => {
    const { kernel, parent, note, create } = await parentAndChildren();
    const other = await kernel.processes.spawn({ image: 'worker' });
    const theirs = await create(other, 'theirs');
    await kernel.capabilities.grant(parent, { resource: `object:${theirs.id}`, rights: ['read'] });
    const goal = (await kernel.processes.get(parent)).goal;
    const listed = async () => {
      const { mode, roots } = await kernel.memory.view(parent);
      return [mode, roots.map(({ id, rights }) => [id, rights.includes('write')])];
    };
    expect(await listed()).toEqual(['mutable', [goal, note.id].map((id) => [id, true])]);
    await kernel.memory.addToView(parent, theirs.id);
    await kernel.memory.addToView(parent, theirs.id);
    expect(await listed()).toEqual(['mutable', [...[goal, note.id].map((id) => [id, true]), [theirs.id, false]]]);
  });

  it('takes nothing that the process may not read, and tells of nothing', async () => {
    const { kernel, parent, create, refused } = await parentAndChildren();
    const secret = await create(await kernel.processes.spawn({ image: 'worker' }), 'secret');
    const unknown = await refused(() => kernel.memory.addToView(parent, 'o_nothing'));
    const foreign = await refused(() => kernel.memory.addToView(parent, secret));
    expect([foreign.code, JSON.stringify(foreign.facts)]).toEqual([
      'NO_SUCH_OBJECT',
      JSON.stringify(unknown.facts).replace('o_nothing', secret.id),
    ]);
  });

  it('gives back what it holds, and the authority over it stays', async () => {
    const { kernel, path, parent, note, read: readAs, inView } = await parentAndChildren();
    await kernel.memory.removeFromView(parent, note);
    await kernel.memory.removeFromView(parent, note);
    expect([await inView(parent), await readAs(parent, note)]).toEqual([[], { n: 1 }]);
    await kernel.memory.addToView(parent, note);
    expect(await inView(parent)).toEqual([note.id]);
    await checkInvariants(kernel, path);
  });

  it('of an ended process cannot be looked at or changed', async () => {
    const { kernel, parent, note } = await parentAndChildren();
    await kernel.processes.exit(parent);
    for (const call of [
      () => kernel.memory.view(parent),
      () => kernel.memory.removeFromView(parent, note),
      () => kernel.memory.query(parent),
    ]) {
      expect((await refusal(call())).code).toBe('PROCESS_TERMINATED');
    }
  });
});

describe('a fork', () => {
  it('has what was in the view then: what comes and goes later is seen by workers only', async () => {
    const { kernel, path, parent, note, fork, create, inView, read: readAs } = await parentAndChildren();
    const kept = await create(parent, 'kept');
    const children = await Promise.all(
      (['restricted', 'copy', 'speculative', 'worker'] as const).map((mode) => fork({ mode })),
    );
    const later = await create(parent, 'later');
    await kernel.memory.removeFromView(parent, note);
    const views = await Promise.all(children.map((child) => inView(child)));
    const then = [note.id, kept.id];
    expect(views).toEqual([then, then, then, [kept.id, later.id]]);
    const read = (object: typeof note) => Promise.all(children.map((child) => readAs(child, object)));
    expect(await read(later)).toEqual([...Array(3).fill('NO_SUCH_OBJECT'), 'later']);
    expect(await read(note)).toEqual([...Array(3).fill({ n: 1 }), 'NO_SUCH_OBJECT']);
    await checkInvariants(kernel, path);
  });

  it('of a fork has what its parent made before, as it was then', async () => {
    // Regression: it showed the first version, as of the earlier fork.
    const { kernel, fork, create, read: readAs } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    const made = await create(child, 1);
    await kernel.memory.update(child, made, 2);
    const grandchild = await fork({ mode: 'copy' }, child);
    await kernel.memory.update(child, made, 3);
    expect([await readAs(child, made), await readAs(grandchild, made)]).toEqual([3, 2]);
  });

  it('has a history of its own: versions that its parent wrote later are not in it', async () => {
    // Regression: they replaced its own versions.
    const { kernel, parent, note, fork } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    for (const n of [2, 3]) {
      await kernel.memory.update(child, note, { mine: n });
      await kernel.memory.update(parent, note, { theirs: n });
    }
    const told = async (pid: string) =>
      (await kernel.memory.history(pid, note)).map(({ version, madeBy }) => [version, madeBy]);
    const second = await kernel.memory.read(child, note, { version: 2 });
    expect([await told(child), await told(parent), second.payload]).toEqual([
      [
        [1, parent],
        [2, child],
        [3, child],
      ],
      [
        [1, parent],
        [2, parent],
        [3, parent],
      ],
      { mine: 2 },
    ]);
    expect((await refusal(kernel.memory.read(child, note, { version: 4 }))).code).toBe('NO_SUCH_OBJECT');
  });

  it('sees exactly what was written before it, also when both wait for one commit', async () => {
    const { kernel, path, parent, note, fork } = await parentAndChildren();
    const update = (n: number) => kernel.memory.update(parent, note, { n });
    const calls: Promise<unknown>[] = [];
    for (let n = 2; n < 26; n++) {
      calls.push(...(n % 2 === 0 ? [update(n), fork()] : [fork(), update(n)]));
      // A fork looks up its image before it waits for a commit; in some runs it gets the time to.
      if (n % 3 === 0) await new Promise(setImmediate);
    }
    const children = (await Promise.all(calls)).filter((one) => typeof one === 'string');
    const { items } = await kernel.events.list({ types: ['object.updated', 'process.forked'], limit: 1_000 });
    let version = 1;
    const expected = new Map<string, number>();
    for (const { type, pid, data } of items) {
      if (type === 'object.updated') version = Number(data.version);
      else expected.set(pid ?? '', version);
    }
    const found = new Map<string, number>();
    for (const child of children) found.set(child, (await kernel.memory.read(child, note)).version);
    expect([...found].sort()).toEqual([...expected].sort());
    expect(new Set(expected.values()).size).toBeGreaterThan(1);
    await checkInvariants(kernel, path);
  });

  it('sees what was written before it through another kernel on the same file', async () => {
    const one = await parentAndChildren();
    const two = (await kernelFixture({ store: one.path })).kernel;
    const child = await one.fork({ mode: 'copy' });
    await two.memory.update(one.parent, one.note, { n: 2 });
    const second = await two.processes.fork(one.parent, { image: 'worker' });
    await one.kernel.memory.update(child, one.note, { n: 10 });
    for (const kernel of [one.kernel, two]) {
      const seen = await Promise.all([one.parent, child, second].map((pid) => readOrCode(kernel, pid, one.note)));
      expect(seen).toEqual([{ n: 2 }, { n: 10 }, { n: 2 }]);
    }
    await one.kernel.processes.exit(child);
    expect((await refusal(two.memory.merge(one.parent, child))).code).toBe('MERGE_CONFLICT');
    await checkInvariants(two, one.path);
  });

  it('keeps its view over an exec, unless it asks for a new one', async () => {
    const { kernel, parent, note, fork, create, read: readAs, inView } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, { n: 2 });
    const made = await create(child, 'made');
    await kernel.processes.exec(child, { image: 'worker' });
    expect([await readAs(child, note), await inView(child)]).toEqual([{ n: 2 }, [note.id, made.id]]);
    await kernel.processes.exec(child, { image: 'worker', preserveMemory: false });
    expect([await readAs(child, note), await readAs(child, made), await inView(child)]).toEqual([
      'NO_SUCH_OBJECT',
      'made',
      [],
    ]);
    expect((await kernel.memory.view(child)).mode).toBe('mutable');
    await kernel.processes.exit(child);
    expect((await refusal(kernel.memory.merge(parent, child))).code).toBe('NOT_FORKED');
  });

  it('of a process that took a new view sees the new one, and the forks of the old one stay as they are', async () => {
    const { kernel, parent, note, fork, read: readAs, inView } = await parentAndChildren();
    const before = await fork({ mode: 'copy' });
    await kernel.processes.exec(parent, { image: 'worker', preserveMemory: false });
    const after = await fork({ mode: 'copy' });
    expect([await readAs(before, note), await inView(after)]).toEqual([{ n: 1 }, []]);
    await kernel.processes.exit(before);
    expect((await refusal(kernel.memory.merge(parent, before))).code).toBe('NOT_FORKED');
  });
});
