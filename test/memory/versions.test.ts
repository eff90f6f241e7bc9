import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../support/invariants.js';
import { eventsAfter, kernelFixture, lastSeq } from '../support/kernel-fixture.js';
import { ownerAndStranger, refusalDetails, unknownId } from '../support/memory/owner-and-stranger.js';
import { findInconsistencies } from '../support/store-consistency.js';

describe('updating an object', () => {
  it('gives it a new version and keeps the earlier ones, also after a restart', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const handle = await note({ n: 1 }, { name: 'n', title: 't', tags: ['x'] });
    const before = await lastSeq(kernel);
    const first = await kernel.memory.read(owner, handle);
    expect((await kernel.memory.update(owner, handle, { n: 2 })).toJSON()).toEqual(handle.toJSON());
    await kernel.memory.update(owner, handle.id, 'three');
    expect(await eventsAfter(kernel, before)).toEqual([
      ['object.updated', owner],
      ['object.updated', owner],
    ]);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    const now = await again.memory.read(owner, handle);
    expect(now).toEqual({ ...first, payload: 'three', version: 3, hash: now.hash, tokens: now.tokens });
    const payloads = [];
    for (const version of [1, 2, 3]) payloads.push((await again.memory.read(owner, handle, { version })).payload);
    expect(payloads).toEqual([{ n: 1 }, { n: 2 }, 'three']);
    expect(await again.memory.read(owner, handle, { version: 1 })).toEqual(first);
    await checkInvariants(again, path);
  });

  it('keeps no earlier one with history: false, and is charged for what is stored only', async () => {
    const { kernel, owner, note } = await ownerAndStranger();
    const handle = await note({ n: 1 });
    const before = (await kernel.processes.get(owner)).used.storedBytes ?? 0;
    for (const letter of ['a', 'b', 'c']) {
      await kernel.memory.update(owner, handle, letter.repeat(5_000), { history: false });
    }
    const history = await kernel.memory.history(owner, handle);
    expect(history.map(({ version }) => version)).toEqual([4]);
    expect((await kernel.memory.read(owner, handle)).payload).toBe('c'.repeat(5_000));
    const used = (await kernel.processes.get(owner)).used.storedBytes ?? 0;
    expect(used - before).toBe(5_002 - JSON.stringify({ n: 1 }).length);
    await kernel.memory.update(owner, handle, 'last');
    expect((await kernel.memory.history(owner, handle)).map(({ version }) => version)).toEqual([4, 5]);
    expect((await kernel.memory.read(owner, handle, { version: 4 })).payload).toBe('c'.repeat(5_000));
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('counts a version also for a payload that is the same', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const handle = await note({ n: 1 });
    await kernel.memory.update(owner, handle, { n: 1 });
    const history = await kernel.memory.history(owner, handle);
    expect(history.map(({ version }) => version)).toEqual([1, 2]);
    expect(new Set(history.map(({ hash }) => hash)).size).toBe(1);
    await checkInvariants(kernel, path);
  });

  it('of one that is immutable is refused', async () => {
    const { kernel, owner, note, refused } = await ownerAndStranger();
    const handle = await note(1, { immutable: true });
    const facts = { object: handle.id };
    expect(await refused(() => kernel.memory.update(owner, handle, 2))).toEqual({ code: 'IMMUTABLE', facts });
    const { goal } = await kernel.processes.get(owner);
    expect((await refused(() => kernel.memory.update(owner, goal, 2))).code).toBe('IMMUTABLE');
  });

  it('is refused to those that may only read it, as if there were nothing', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note();
    await kernel.memory.share(owner, stranger, handle, ['read', 'diff', 'materialize', 'link']);
    expect((await kernel.memory.read(stranger, handle)).payload).toEqual({ n: 1 });
    expect((await refused(() => kernel.memory.update(stranger, handle, 2))).code).toBe('NO_SUCH_OBJECT');
    await kernel.memory.share(owner, stranger, handle, ['write']);
    await kernel.memory.update(stranger, handle, 2);
    expect((await kernel.memory.history(owner, handle)).map(({ madeBy }) => madeBy)).toEqual([owner, stranger]);
  });
});

describe('a condition on the version', () => {
  it('lets one of two writers pass that have read the same', async () => {
    const { kernel, path, owner, note, refused } = await ownerAndStranger();
    const handle = await note();
    await kernel.memory.update(owner, handle, { n: 2 }, { ifVersion: 1 });
    expect(await refused(() => kernel.memory.update(owner, handle, { n: 3 }, { ifVersion: 1 }))).toEqual({
      code: 'VERSION_CONFLICT',
      facts: { object: handle.id, expected: 1, actual: 2 },
    });
    const tries = Array.from({ length: 20 }, (_, n) => kernel.memory.update(owner, handle, { n }, { ifVersion: 2 }));
    const settled = await Promise.allSettled(tries);
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await kernel.memory.read(owner, handle)).version).toBe(3);
    await checkInvariants(kernel, path);
  });

  it('that is no version is refused', async () => {
    const { kernel, owner, note, refused } = await ownerAndStranger();
    const handle = await note();
    for (const ifVersion of [0, -1, 1.5, Number.NaN, 2 ** 63, '1', null]) {
      const call = () => kernel.memory.update(owner, handle, 2, { ifVersion: ifVersion as number });
      expect((await refused(call)).code).toBe('INVALID_INPUT');
    }
    expect((await refused(() => kernel.memory.update(owner, handle, 2, { ifversion: 1 } as never))).code).toBe(
      'INVALID_INPUT',
    );
  });
});

describe('a version', () => {
  it('that there is not is refused, and the newest one named', async () => {
    const { kernel, owner, note, refused } = await ownerAndStranger();
    const handle = await note();
    await kernel.memory.update(owner, handle, 2);
    expect(await refused(() => kernel.memory.read(owner, handle, { version: 3 }))).toEqual({
      code: 'NO_SUCH_OBJECT',
      facts: { object: handle.id, version: 3, newest: 2 },
    });
    for (const version of [0, -1, 0.5, Number.NaN, '1']) {
      const call = () => kernel.memory.read(owner, handle, { version: version as number });
      expect((await refused(call)).code).toBe('INVALID_INPUT');
    }
  });

  it('of what may not be read is not told from one of what is not there', async () => {
    const { kernel, owner, stranger, note } = await ownerAndStranger();
    const handle = await note();
    await kernel.memory.update(owner, handle, 2);
    const face = kernel.as(stranger).memory;
    for (const version of [1, 2, 3]) {
      const asked = (id: string) => refusalDetails(() => face.read(id, { version }), id);
      expect(await asked(handle.id)).toEqual(await asked(unknownId));
    }
    const history = (id: string) => refusalDetails(() => face.history(id), id);
    expect(await history(handle.id)).toEqual(await history(unknownId));
  });

  it('of a copy is one that led to it, and never one that the parent wrote after the fork', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const handle = await note('parent 1');
    await kernel.memory.update(owner, handle, 'parent 2');
    const child = await kernel.processes.fork(owner, { mode: 'copy' });
    for (const n of [3, 4, 5]) await kernel.memory.update(owner, handle, `parent ${n}`);
    for (const n of [3, 4]) await kernel.memory.update(child, handle, `child ${n}`);
    const grandchild = await kernel.processes.fork(child, { mode: 'copy' });
    await kernel.memory.update(child, handle, 'child 5');
    await kernel.memory.update(grandchild, handle, 'grandchild 5');
    const read = async (pid: string) => {
      const versions = (await kernel.memory.history(pid, handle)).map(({ version }) => version);
      const payloads = [];
      for (const version of versions) payloads.push((await kernel.memory.read(pid, handle, { version })).payload);
      return payloads;
    };
    expect([await read(owner), await read(child), await read(grandchild)]).toEqual([
      ['parent 1', 'parent 2', 'parent 3', 'parent 4', 'parent 5'],
      ['parent 1', 'parent 2', 'child 3', 'child 4', 'child 5'],
      ['parent 1', 'parent 2', 'child 3', 'child 4', 'grandchild 5'],
    ]);
    await checkInvariants(kernel, path);
  });
});

describe('the history', () => {
  it('says who made each version, when, and from what', async () => {
    const { kernel, owner, stranger, note } = await ownerAndStranger();
    const source = await note('source');
    const handle = await note(1, { sources: [source] });
    await kernel.memory.share(owner, stranger, handle, ['read', 'write']);
    await kernel.memory.update(stranger, handle, 2);
    const [first, second, ...more] = await kernel.memory.history(stranger, handle);
    const now = await kernel.memory.read(owner, handle);
    expect([first, second, more]).toEqual([
      {
        version: 1,
        hash: (await kernel.memory.read(owner, handle, { version: 1 })).hash,
        tokens: 1,
        madeBy: owner,
        madeAt: now.createdAt,
        sources: [{ object: source.id, version: 1 }],
      },
      { version: 2, hash: now.hash, tokens: 1, madeBy: stranger, madeAt: second?.madeAt, sources: [] },
      [],
    ]);
  });
});

describe('deleting an object', () => {
  it('takes it from everybody and frees its name', async () => {
    const { kernel, path, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note(1, { name: 'n' });
    const other = await note(2);
    await kernel.memory.share(owner, stranger, handle, ['read']);
    await kernel.memory.addToView(stranger, handle);
    await kernel.memory.link(owner, other, handle, 'references');
    const child = await kernel.processes.fork(owner, { mode: 'copy' });
    await kernel.memory.delete(owner, handle);
    for (const pid of [owner, stranger, child]) {
      const { memory } = kernel;
      for (const call of [
        () => memory.read(pid, handle),
        () => memory.history(pid, handle),
        () => memory.update(pid, handle, 2),
        () => memory.delete(pid, handle),
        () => memory.links(pid, handle),
        () => memory.addToView(pid, handle),
        () => memory.diff(pid, handle, handle),
        () => memory.share(pid, pid === stranger ? owner : stranger, handle, ['read']),
        () => memory.lookup(pid, 'n', `process/${owner}`),
      ]) {
        expect((await refused(call)).code).toBe('NO_SUCH_OBJECT');
      }
      expect((await memory.query(pid, { name: 'n' })).items).toEqual([]);
      expect((await memory.view(pid)).roots.filter(({ id }) => id === handle.id)).toEqual([]);
    }
    expect(await kernel.memory.links(owner, other)).toEqual([]);
    await note('new', { name: 'n' });
    await checkInvariants(kernel, path);
  });

  it('is refused without the right to, and for what is not there', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note();
    await kernel.memory.share(owner, stranger, handle, ['read', 'write', 'link']);
    for (const ref of [handle, unknownId]) {
      expect((await refused(() => kernel.memory.delete(stranger, ref))).code).toBe('NO_SUCH_OBJECT');
    }
    await kernel.memory.share(owner, stranger, handle, ['delete']);
    await kernel.memory.delete(stranger, handle);
  });

  it('leaves nothing that could be handed on as goal or result', async () => {
    const { kernel, path, owner, note, refused } = await ownerAndStranger();
    const handle = await note();
    await kernel.memory.delete(owner, handle);
    for (const call of [
      () => kernel.processes.spawnChild(owner, { goal: handle }),
      () => kernel.processes.fork(owner, { goal: handle }),
      () => kernel.processes.spawn({ goal: handle }),
      () => kernel.processes.exec(owner, { image: 'worker', goal: handle }),
      () => kernel.processes.exit(owner, { result: handle }),
    ]) {
      expect((await refused(call)).code).toBe('NO_SUCH_OBJECT');
    }
    await checkInvariants(kernel, path);
  });
});

describe('forgetting ended processes', () => {
  it('leaves objects, versions, links and views whole', async () => {
    const { kernel, path, owner, stranger, note } = await ownerAndStranger();
    const handle = await note('x'.repeat(3_000), { name: 'n' });
    await kernel.memory.update(owner, handle, 2);
    await kernel.memory.share(owner, stranger, handle, ['read']);
    await kernel.memory.addToView(stranger, handle);
    const mine = await kernel.memory.create(stranger, { type: 'claim', payload: 1 });
    await kernel.memory.link(stranger, mine, handle, 'supports');
    const child = await kernel.processes.fork(owner, { mode: 'copy' });
    await kernel.memory.update(child, handle, 3);
    await kernel.processes.exit(child);
    await kernel.processes.exit(owner, { result: handle });
    await kernel.processes.prune({ endedBefore: Date.now() + 10_000 });
    expect(await kernel.memory.links(stranger, mine)).toEqual([]);
    await checkInvariants(kernel, path);
  });
});
