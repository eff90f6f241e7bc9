import { describe, expect, it } from 'vitest';
import type { Kernel, MergePolicy, ObjectHandle, Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { type ParentAndChildren, parentAndChildren, readOrCode } from '../support/memory/parent-and-children.js';

const nothing = { merged: [], adopted: [], skipped: [], conflicts: [] };

/** A kernel that is closed and opened again between any two steps. */
class Reopened {
  private constructor(
    private kernel: Kernel,
    readonly path: string,
  ) {}

  static of({ kernel, path }: ParentAndChildren): Reopened {
    return new Reopened(kernel, path);
  }

  async step<T>(work: (kernel: Kernel) => Promise<T>): Promise<T> {
    await this.kernel.shutdown();
    this.kernel = (await kernelFixture({ store: this.path })).kernel;
    return work(this.kernel);
  }

  seen(object: ObjectHandle, ...pids: Pid[]): Promise<unknown[]> {
    return this.step((kernel) => Promise.all(pids.map((pid) => readOrCode(kernel, pid, object))));
  }

  merge(parent: Pid, child: Pid, policy?: MergePolicy) {
    return this.step((kernel) => kernel.memory.merge(parent, child, policy));
  }

  check(): Promise<void> {
    return this.step((kernel) => checkInvariants(kernel, this.path));
  }
}

const refusedUpdate = (pid: Pid, object: ObjectHandle) => async (kernel: Kernel) => {
  const versions = async (by: Pid) => (await kernel.memory.history(by, object)).length;
  const before = await versions(pid);
  const { code } = await refusal(kernel.memory.update(pid, object, 'refused'));
  return [code, (await versions(pid)) - before];
};

describe('after the kernel was closed and opened again', () => {
  it('what a copy writes is seen by the copy alone until it is merged, and what the parent writes by the parent', async () => {
    const all = await parentAndChildren();
    const { parent, note } = all;
    const [child, sibling] = [await all.fork({ mode: 'copy' }), await all.fork({ mode: 'copy' })];
    const untouched = await all.create(parent, 'as it was');
    const late = await all.fork({ mode: 'copy' });
    const kernels = Reopened.of(all);
    await kernels.step((kernel) => kernel.memory.update(child, note, { n: 2 }));
    await kernels.step((kernel) => kernel.memory.update(parent, untouched, 'changed since'));
    expect(await kernels.seen(note, parent, child, sibling)).toEqual([{ n: 1 }, { n: 2 }, { n: 1 }]);
    expect(await kernels.seen(untouched, parent, late, child)).toEqual([
      'changed since',
      'as it was',
      'NO_SUCH_OBJECT',
    ]);
    await kernels.step((kernel) => kernel.memory.update(child, note, { n: 3 }));
    await kernels.step((kernel) => kernel.processes.exit(child));
    expect(await kernels.seen(note, parent, sibling)).toEqual([{ n: 1 }, { n: 1 }]);
    expect(await kernels.merge(parent, child)).toEqual({ ...nothing, merged: [note.id] });
    expect(await kernels.seen(note, parent, sibling)).toEqual([{ n: 3 }, { n: 1 }]);
    expect(await kernels.merge(parent, child)).toEqual(nothing);
    await kernels.check();
  });

  it.each([
    ['fails', { failed: true }],
    ['succeeds', {}],
  ])('what a speculative child wrote and made is there to be merged only if it %s', async (_, outcome) => {
    const all = await parentAndChildren();
    const { parent, note } = all;
    const child = await all.fork({ mode: 'speculative' });
    const kernels = Reopened.of(all);
    await kernels.step((kernel) => kernel.memory.update(child, note, 'tried'));
    const made = await kernels.step((kernel) => kernel.memory.create(child, { type: 'evidence', payload: 'made' }));
    expect(await kernels.seen(note, parent, child)).toEqual([{ n: 1 }, 'tried']);
    await kernels.step((kernel) => kernel.processes.exit(child, outcome));
    const failed = 'failed' in outcome;
    expect(await kernels.merge(parent, child)).toEqual(
      failed ? nothing : { ...nothing, merged: [note.id], adopted: [made.id] },
    );
    expect(await kernels.seen(note, parent)).toEqual([failed ? { n: 1 } : 'tried']);
    await kernels.check();
  });

  it('what a speculative child wrote is gone when it is killed, and when its parent ends', async () => {
    const all = await parentAndChildren();
    const { parent, note } = all;
    const [killed, orphan] = [await all.fork({ mode: 'speculative' }), await all.fork({ mode: 'speculative' })];
    const kernels = Reopened.of(all);
    for (const pid of [killed, orphan]) await kernels.step((kernel) => kernel.memory.update(pid, note, 'tried'));
    await kernels.step((kernel) => kernel.processes.kill(killed));
    expect(await kernels.merge(parent, killed, 'theirs')).toEqual(nothing);
    await kernels.step((kernel) => kernel.processes.exit(parent));
    expect(await kernels.step((kernel) => kernel.memory.sweep())).toMatchObject({ reclaimed: expect.any(Number) });
    expect(await kernels.step(async (kernel) => (await refusal(kernel.memory.merge(parent, orphan))).code)).toBe(
      'PROCESS_TERMINATED',
    );
    await kernels.check();
  });

  it('a restricted child reads what was there at the fork, and writes nothing', async () => {
    const all = await parentAndChildren();
    const { parent, note } = all;
    const child = await all.fork({ mode: 'restricted' });
    const kernels = Reopened.of(all);
    await kernels.step((kernel) => kernel.memory.update(parent, note, { n: 2 }));
    const later = await kernels.step((kernel) => kernel.memory.create(parent, { type: 'claim', payload: 'later' }));
    expect(await kernels.seen(note, parent, child)).toEqual([{ n: 2 }, { n: 1 }]);
    expect(await kernels.seen(later, parent, child)).toEqual(['later', 'NO_SUCH_OBJECT']);
    expect(await kernels.step(refusedUpdate(child, note))).toEqual(['NO_SUCH_OBJECT', 0]);
    await kernels.check();
  });

  it('a worker reads what its parent has now, and writes nothing', async () => {
    const all = await parentAndChildren();
    const { parent, note } = all;
    const child = await all.fork({ mode: 'worker' });
    const kernels = Reopened.of(all);
    await kernels.step((kernel) => kernel.memory.update(parent, note, { n: 2 }));
    const later = await kernels.step((kernel) => kernel.memory.create(parent, { type: 'claim', payload: 'later' }));
    expect(await kernels.seen(note, parent, child)).toEqual([{ n: 2 }, { n: 2 }]);
    expect(await kernels.seen(later, child)).toEqual(['later']);
    await kernels.step((kernel) => kernel.memory.removeFromView(parent, later));
    expect(await kernels.seen(later, child)).toEqual(['NO_SUCH_OBJECT']);
    expect(await kernels.step(refusedUpdate(child, note))).toEqual(['NO_SUCH_OBJECT', 0]);
    await kernels.check();
  });

  it('three levels of copies see what is above them, and are merged one at a time', async () => {
    const all = await parentAndChildren();
    const { parent, note } = all;
    const kernels = Reopened.of(all);
    const fork = (of: Pid) => kernels.step((kernel) => kernel.processes.fork(of, { image: 'worker', mode: 'copy' }));
    const write = (pid: Pid, n: number) => kernels.step((kernel) => kernel.memory.update(pid, note, { n }));
    const one = await fork(parent);
    await write(one, 10);
    const two = await fork(one);
    await write(one, 11);
    const three = await fork(two);
    await write(three, 1_000);
    expect(await kernels.seen(note, parent, one, two, three)).toEqual([{ n: 1 }, { n: 11 }, { n: 10 }, { n: 1_000 }]);
    const end = (pid: Pid) => kernels.step((kernel) => kernel.processes.exit(pid));
    await end(three);
    expect((await kernels.merge(two, three)).merged).toEqual([note.id]);
    expect(await kernels.seen(note, parent, one, two)).toEqual([{ n: 1 }, { n: 11 }, { n: 1_000 }]);
    await end(two);
    const refused = await kernels.step((kernel) => refusal(kernel.memory.merge(one, two)));
    expect(refused).toMatchObject({
      code: 'MERGE_CONFLICT',
      facts: {
        conflicts: [
          {
            object: note.id,
            base: { version: 2, payload: { n: 10 } },
            ours: { version: 3, payload: { n: 11 } },
            theirs: { version: 3, payload: { n: 1_000 } },
          },
        ],
      },
    });
    expect(await kernels.seen(note, parent, one)).toEqual([{ n: 1 }, { n: 11 }]);
    expect((await kernels.merge(one, two, 'theirs')).merged).toEqual([note.id]);
    expect(await kernels.seen(note, parent, one)).toEqual([{ n: 1 }, { n: 1_000 }]);
    await end(one);
    expect((await kernels.merge(parent, one)).merged).toEqual([note.id]);
    expect(await kernels.seen(note, parent)).toEqual([{ n: 1_000 }]);
    await kernels.check();
  });

  it('a capability that was revoked between the fork and the merge is respected', async () => {
    const all = await parentAndChildren();
    const { kernel, parent } = all;
    const given = await all.create(await kernel.processes.spawn({ image: 'worker' }), 'before');
    const resource = `object:${given.id}`;
    const { id } = await kernel.capabilities.grant(parent, { resource, rights: ['read', 'write'], delegable: true });
    await kernel.capabilities.grant(parent, { resource, rights: ['read'] });
    await kernel.memory.addToView(parent, given);
    const child = await all.fork({ mode: 'copy' });
    await kernel.memory.update(child, given, 'theirs');
    await kernel.processes.exit(child);
    const kernels = Reopened.of(all);
    await kernels.step((again) => again.capabilities.revoke(id));
    const skipped = [{ object: given.id, reason: 'no_right' }];
    expect(await kernels.merge(parent, child, 'theirs')).toEqual({ ...nothing, skipped });
    expect(await kernels.seen(given, parent)).toEqual(['before']);
    await kernels.check();
  });

  it('the result and what a child made are readable for its parent until it merges', async () => {
    const all = await parentAndChildren();
    const { parent } = all;
    const child = await all.fork({ mode: 'copy' });
    const [made, dropped] = [await all.create(child, 'made'), await all.create(child, 'dropped')];
    await all.kernel.memory.removeFromView(child, dropped);
    await all.kernel.processes.exit(child, { result: 'result' });
    const kernels = Reopened.of(all);
    const { result, value } = await kernels.step((kernel) => kernel.processes.wait(parent, child));
    expect([value, await kernels.seen(made, parent), await kernels.seen(dropped, parent)]).toEqual([
      'result',
      ['made'],
      ['dropped'],
    ]);
    expect(await kernels.step(refusedUpdate(parent, made))).toEqual(['NO_SUCH_OBJECT', 0]);
    expect((await kernels.merge(parent, child)).adopted.length).toBe(2);
    expect([await kernels.seen(made, parent), await kernels.seen(dropped, parent)]).toEqual([
      ['made'],
      ['NO_SUCH_OBJECT'],
    ]);
    expect(await kernels.step(async (kernel) => (await kernel.memory.read(parent, result?.id ?? '')).payload)).toBe(
      'result',
    );
    await kernels.check();
  });

  it('they are readable until the parent ends, which leaves them to nobody', async () => {
    const all = await parentAndChildren();
    const { parent } = all;
    const child = await all.fork({ mode: 'copy' });
    const grandchild = await all.fork({ mode: 'copy' }, child);
    const made = await all.create(grandchild, 'made');
    await all.kernel.processes.exit(grandchild, { result: made });
    const kernels = Reopened.of(all);
    expect(await kernels.seen(made, child, parent)).toEqual(['made', 'NO_SUCH_OBJECT']);
    await kernels.step((kernel) => kernel.processes.exit(child));
    expect(await kernels.seen(made, child, parent)).toEqual(['NO_SUCH_OBJECT', 'NO_SUCH_OBJECT']);
    await kernels.check();
  });
});
