import { describe, expect, it } from 'vitest';
import type { Kernel, ObjectHandle, Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

type Mode = 'restricted' | 'copy' | 'speculative' | 'worker';

interface Forked {
  readonly kernel: Kernel;
  readonly path: string;
  readonly parent: Pid;
  readonly note: ObjectHandle;
  child(mode: Mode, of?: Pid): Promise<Pid>;
}

/** A process with a mutable note, and children forked from it. */
async function forked(): Promise<Forked> {
  const { kernel, path } = await kernelFixture();
  const parent = await kernel.processes.spawn({ image: 'worker' });
  const note = await kernel.memory.create(parent, { type: 'claim', payload: { n: 1 }, immutable: false, name: 'note' });
  const child = (mode: Mode, of = parent) => kernel.processes.fork(of, { image: 'worker', mode });
  return { kernel, path, parent, note, child };
}

const seen = async (kernel: Kernel, pid: Pid, note: ObjectHandle) => (await kernel.memory.read(pid, note)).payload;

describe('a fork', () => {
  it('that copies leaves the parent’s version alone until it is merged', async () => {
    const { kernel, path, parent, note, child } = await forked();
    const copy = await child('copy');
    await kernel.memory.update(copy, note, { n: 2 });
    expect([await seen(kernel, parent, note), await seen(kernel, copy, note)]).toEqual([{ n: 1 }, { n: 2 }]);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    expect([await seen(again, parent, note), await seen(again, copy, note)]).toEqual([{ n: 1 }, { n: 2 }]);
    await again.processes.exit(copy);
    expect(await again.memory.merge(parent, copy)).toEqual({
      merged: [note.id],
      adopted: [],
      skipped: [],
      conflicts: [],
    });
    expect(await again.memory.read(parent, note)).toMatchObject({ payload: { n: 2 }, version: 2 });
    expect(await again.memory.merge(parent, copy)).toEqual({ merged: [], adopted: [], skipped: [], conflicts: [] });
    await checkInvariants(again, path);
  });

  it('that is speculative leaves nothing unless it succeeds and is merged', async () => {
    const { kernel, path, parent, note, child } = await forked();
    for (const failed of [true, false]) {
      const pid = await child('speculative');
      await kernel.memory.update(pid, note, { tried: failed });
      const made = await kernel.memory.create(pid, { type: 'evidence', payload: 1 });
      await kernel.processes.exit(pid, { failed });
      expect(await seen(kernel, parent, note)).toEqual({ n: 1 });
      const { merged, adopted } = await kernel.memory.merge(parent, pid);
      expect([merged, adopted]).toEqual(failed ? [[], []] : [[note.id], [made.id]]);
    }
    expect(await seen(kernel, parent, note)).toEqual({ tried: false });
    await checkInvariants(kernel, path);
  });

  it('that is restricted reads what was there at the fork, and writes nothing', async () => {
    const { kernel, path, parent, note, child } = await forked();
    const pid = await child('restricted');
    await kernel.memory.update(parent, note, { n: 2 });
    const later = await kernel.memory.create(parent, { type: 'claim', payload: 'later' });
    expect(await seen(kernel, pid, note)).toEqual({ n: 1 });
    expect((await refusal(kernel.memory.update(pid, note, { n: 3 }))).code).toBe('NO_SUCH_OBJECT');
    expect((await refusal(kernel.memory.read(pid, later))).code).toBe('NO_SUCH_OBJECT');
    await checkInvariants(kernel, path);
  });

  it('that works beside its parent sees what the parent has now', async () => {
    const { kernel, parent, note, child } = await forked();
    const pid = await child('worker');
    await kernel.memory.update(parent, note, { n: 2 });
    const later = await kernel.memory.create(parent, { type: 'claim', payload: 'later' });
    expect([await seen(kernel, pid, note), await seen(kernel, pid, later)]).toEqual([{ n: 2 }, 'later']);
    expect((await refusal(kernel.memory.update(pid, note, { n: 3 }))).code).toBe('NO_SUCH_OBJECT');
  });

  it('of a fork sees what its parent saw then, three levels down, and is merged one level at a time', async () => {
    const { kernel, path, parent, note, child } = await forked();
    const one = await child('copy');
    await kernel.memory.update(one, note, { n: 2 });
    const two = await child('copy', one);
    await kernel.memory.update(one, note, { n: 3 });
    await kernel.memory.update(two, note, { n: 20 });
    const three = await child('copy', two);
    await kernel.memory.update(three, note, { n: 200 });
    const all = () => Promise.all([parent, one, two, three].map((pid) => seen(kernel, pid, note)));
    expect(await all()).toEqual([{ n: 1 }, { n: 3 }, { n: 20 }, { n: 200 }]);
    await kernel.processes.exit(three);
    await kernel.memory.merge(two, three);
    expect(await Promise.all([parent, one, two].map((pid) => seen(kernel, pid, note)))).toEqual([
      { n: 1 },
      { n: 3 },
      { n: 200 },
    ]);
    await kernel.processes.exit(two);
    expect((await refusal(kernel.memory.merge(one, two))).code).toBe('MERGE_CONFLICT');
    const sum = (_base: unknown, ours: unknown, theirs: unknown) => ({ ours, theirs }) as never;
    expect((await kernel.memory.merge(one, two, sum)).merged).toEqual([note.id]);
    await kernel.processes.exit(one);
    await kernel.memory.merge(parent, one);
    expect(await seen(kernel, parent, note)).toEqual({ ours: { n: 3 }, theirs: { n: 200 } });
    await checkInvariants(kernel, path);
  });
});
