import { describe, expect, it } from 'vitest';
import { type ForkSpec, ObjectHandle, type ObjectId, type ObjectRef, type Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import {
  type OwnerAndStranger,
  ownerAndStranger,
  refusalDetails,
  unknownId,
} from '../support/memory/owner-and-stranger.js';

/** Every call of a process that takes a reference to an object. */
function callsWithRef(
  { kernel }: OwnerAndStranger,
  pid: Pid,
  mine: ObjectHandle,
): Record<string, (ref: ObjectRef) => Promise<unknown>> {
  const { memory, fork } = kernel.as(pid);
  return {
    read: (ref) => memory.read(ref),
    'read a version': (ref) => memory.read(ref, { version: 1 }),
    update: (ref) => memory.update(ref, 1),
    'update a version': (ref) => memory.update(ref, 1, { ifVersion: 7 }),
    delete: (ref) => memory.delete(ref),
    history: (ref) => memory.history(ref),
    links: (ref) => memory.links(ref),
    'link from': (ref) => memory.link(ref, mine, 'supports'),
    'link to': (ref) => memory.link(mine, ref, 'supports'),
    'diff from': (ref) => memory.diff(ref, mine),
    'diff to': (ref) => memory.diff(mine, ref),
    'diff a version': (ref) => memory.diff(mine, { object: ref, version: 1 }),
    source: (ref) => memory.create({ type: 'claim', payload: 1, sources: [mine, ref] }),
    addToView: (ref) => memory.addToView(ref),
    'root of a fork': (ref) => fork({ view: { roots: [ref as ObjectId] } }),
  };
}

/** Calls that take only a handle, and pass it on. */
function callsWithHandle(
  { kernel }: OwnerAndStranger,
  pid: Pid,
): Record<string, (handle: ObjectHandle) => Promise<unknown>> {
  const face = kernel.as(pid);
  return {
    'goal of a child': (goal) => face.spawnChild({ goal }),
    'goal of a fork': (goal) => face.fork({ goal }),
    'goal of exec': (goal) => face.exec({ image: 'worker', goal }),
    'exit result': (result) => face.exit({ result }),
  };
}

/** A handle to a live object and one to a deleted object; neither helps another process. */
async function foreign(set: OwnerAndStranger) {
  const there = await set.note('there', { name: 'there' });
  const gone = await set.note('gone');
  await set.kernel.memory.delete(set.owner, gone);
  const mine = await set.kernel.memory.create(set.stranger, { type: 'claim', payload: 1, immutable: false });
  return { there, gone, mine };
}

describe('a foreign object', () => {
  it('is refused wherever it can be named, like one that was deleted and one that never was', async () => {
    const set = await ownerAndStranger();
    const { there, gone, mine } = await foreign(set);
    for (const [way, call] of Object.entries(callsWithRef(set, set.stranger, mine))) {
      const shown = async (ref: ObjectRef) => {
        const id = typeof ref === 'string' ? ref : ref.id;
        await set.refused(() => call(ref));
        return [way, await refusalDetails(() => call(ref), id)];
      };
      const expected = await shown(unknownId);
      expect(expected).toMatchObject([way, { code: 'NO_SUCH_OBJECT' }]);
      for (const ref of [there, there.id, gone, gone.id]) expect(await shown(ref)).toEqual(expected);
    }
    await checkInvariants(set.kernel, set.path);
  });

  it('cannot be handed on as goal or result, like one that was deleted', async () => {
    const set = await ownerAndStranger();
    const { there, gone } = await foreign(set);
    for (const [way, call] of Object.entries(callsWithHandle(set, set.stranger))) {
      const shown = async (handle: ObjectHandle) => {
        await set.refused(() => call(handle));
        return [way, await refusalDetails(() => call(handle), handle.id)];
      };
      expect(await shown(there)).toMatchObject([way, { code: 'NO_SUCH_OBJECT' }]);
      expect(await shown(there)).toEqual(await shown(gone));
    }
    await checkInvariants(set.kernel, set.path);
  });

  it('is not told from one that never was by removing it from a view', async () => {
    const set = await ownerAndStranger();
    const { there } = await foreign(set);
    const { memory } = set.kernel.as(set.stranger);
    expect([await memory.removeFromView(there), await memory.removeFromView(unknownId)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('is refused as the root of a view that somebody else has looked at', async () => {
    const set = await ownerAndStranger();
    const { there, mine } = await foreign(set);
    const { memory } = set.kernel.as(set.stranger);
    const [theirs, own] = [await set.kernel.memory.view(set.owner), await memory.view()];
    expect(theirs.roots.map(({ id }) => id)).toContain(there.id);
    for (const [a, b] of [
      [theirs, own],
      [own, theirs],
      [mine, theirs],
    ] as const) {
      expect((await set.refused(() => memory.diff(a, b))).code).toBe('NO_SUCH_OBJECT');
    }
  });
});

describe('an object that is held without grant', () => {
  it('is read and not passed on: neither as goal, result or share, nor through a fork', async () => {
    const set = await ownerAndStranger();
    const { kernel, owner, stranger, note, refused } = set;
    const handle = await note('held');
    const held = await kernel.memory.share(owner, stranger, handle, ['read', 'diff', 'materialize']);
    await kernel.memory.addToView(stranger, held);
    expect((await kernel.as(stranger).memory.read(held)).payload).toBe('held');
    for (const [way, call] of Object.entries(callsWithHandle(set, stranger))) {
      expect([way, await refused(() => call(held))]).toEqual([
        way,
        { code: 'NO_SUCH_OBJECT', facts: { object: handle.id } },
      ]);
    }
    for (const mode of ['restricted', 'copy', 'speculative', 'worker'] as const) {
      const child = await kernel.processes.fork(stranger, { mode });
      expect((await refused(() => kernel.memory.read(child, held))).code).toBe('NO_SUCH_OBJECT');
      expect((await kernel.memory.query(child, { types: ['claim'] })).items).toEqual([]);
      expect((await refused(() => kernel.memory.share(stranger, child, held, ['read']))).code).toBe('AMPLIFICATION');
    }
    await checkInvariants(kernel, set.path);
  });

  it('is passed on with grant, in each of these ways', async () => {
    const { kernel, path, owner, stranger, note } = await ownerAndStranger();
    const handle = await note('held');
    const held = await kernel.memory.share(owner, stranger, handle, ['read', 'grant']);
    await kernel.memory.addToView(stranger, held);
    const child = await kernel.processes.spawnChild(stranger, { goal: held });
    const fork = await kernel.processes.fork(stranger, {});
    for (const pid of [child, fork]) expect((await kernel.memory.read(pid, held)).payload).toBe('held');
    const given = await kernel.memory.share(stranger, child, held, ['read', 'grant']).catch((error) => error.code);
    expect(given).toBe('AMPLIFICATION');
    await kernel.processes.exit(stranger, { result: held });
    expect((await kernel.processes.result(stranger)).value).toBe('held');
    await checkInvariants(kernel, path);
  });

  it('through a fork is read by the child and not passed on by it', async () => {
    const set = await ownerAndStranger();
    const { kernel, owner, note, refused } = set;
    const handle = await note('forked');
    const child = await kernel.processes.fork(owner, { mode: 'copy' });
    expect((await kernel.memory.read(child, handle)).payload).toBe('forked');
    for (const [way, call] of Object.entries(callsWithHandle(set, child))) {
      expect([way, (await refused(() => call(handle))).code]).toEqual([way, 'NO_SUCH_OBJECT']);
    }
    const grandchild = await kernel.processes.spawnChild(child, {});
    const call = () => kernel.memory.share(child, grandchild, handle, ['read']);
    expect((await refused(call)).code).toBe('NO_SUCH_OBJECT');
  });
});

describe('an object that is read through a fork', () => {
  it('gets no further rights by being added to the view once more', async () => {
    const { kernel, path, owner, note, refused } = await ownerAndStranger();
    const handle = await note('forked');
    const forks: ForkSpec[] = [{ mode: 'restricted' }, { mode: 'copy', view: { rights: ['read'] } }];
    for (const spec of forks) {
      const child = await kernel.processes.fork(owner, spec);
      await kernel.memory.addToView(child, handle);
      const grandchild = await kernel.processes.fork(child, { mode: 'copy' });
      for (const pid of [child, grandchild]) {
        expect((await kernel.memory.read(pid, handle)).payload).toBe('forked');
        expect((await refused(() => kernel.memory.update(pid, handle, 'written'))).code).toBe('NO_SUCH_OBJECT');
      }
    }
    await checkInvariants(kernel, path);
  });
});

describe('what looks like a handle', () => {
  it('is data in a payload, a goal and a result', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const handle = await note('secret');
    const lookalike = JSON.parse(JSON.stringify(handle));
    const made = await kernel.memory.create(owner, { type: 'claim', payload: { of: lookalike } });
    expect((await kernel.memory.read(owner, made)).payload).toEqual({ of: lookalike });
    const child = await kernel.processes.spawnChild(owner, { goal: lookalike });
    const { goal } = await kernel.processes.get(child);
    expect((await kernel.memory.read(child, goal)).payload).toEqual(lookalike);
    await kernel.processes.exit(child, { result: lookalike });
    const { result, value } = await kernel.processes.wait(owner, child);
    expect([value, result?.id === handle.id]).toEqual([lookalike, false]);
    await checkInvariants(kernel, path);
  });

  it('is no reference to an object', async () => {
    const set = await ownerAndStranger();
    const handle = await set.note();
    const { id, rights, capability } = handle;
    const forged = Object.create(ObjectHandle.prototype, Object.getOwnPropertyDescriptors({ id, rights, capability }));
    const fakes: unknown[] = [
      handle.toJSON(),
      { id, rights, capability },
      forged,
      structuredClone({ ...handle }),
      new Proxy(handle, {}),
      Object.assign(Object.create(handle), { x: 1 }),
    ];
    for (const [way, call] of Object.entries(callsWithRef(set, set.owner, handle))) {
      for (const fake of fakes) {
        expect([way, (await set.refused(() => call(fake as ObjectHandle))).code]).toEqual([way, 'INVALID_INPUT']);
      }
    }
  });

  it('is not made by anybody but the kernel, nor changed', async () => {
    const { note } = await ownerAndStranger();
    const handle = await note();
    const made = () =>
      new (ObjectHandle as unknown as new (...args: unknown[]) => ObjectHandle)({}, handle.id, [], 'c_1');
    expect(made).toThrow(TypeError);
    expect([Object.isFrozen(handle), Object.isFrozen(handle.rights)]).toEqual([true, true]);
    expect(() => Object.assign(handle, { id: unknownId })).toThrow(TypeError);
  });

  it('and is one of another store is refused in this one', async () => {
    const [set, { kernel, owner, refused }] = [await ownerAndStranger(), await ownerAndStranger()];
    const handle = await set.note();
    expect((await refused(() => kernel.memory.read(owner, handle))).code).toBe('NO_SUCH_OBJECT');
  });
});
