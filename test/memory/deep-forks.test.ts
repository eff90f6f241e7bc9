import { describe, expect, it } from 'vitest';
import type { ForkSpec, Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { type ParentAndChildren, parentAndChildren, readOrCode } from '../support/memory/parent-and-children.js';

const levels = 80;

/** A chain of forks below the parent, the first one first. */
async function chain({ kernel, parent, fork }: ParentAndChildren, spec: (level: number) => ForkSpec): Promise<Pid[]> {
  await kernel.processes.setBudget(parent, { depth: 100 });
  const pids: Pid[] = [];
  for (let level = 0; level < levels; level++) pids.push(await fork(spec(level), pids.at(-1) ?? parent));
  return pids;
}

describe('a chain of forks deeper than 64', () => {
  it.each(['restricted', 'copy', 'speculative', 'worker'] as const)(
    'in which nobody has touched anything shows the last one what the first one had: %s',
    async (mode) => {
      const all = await parentAndChildren();
      const { kernel, path, parent, note } = all;
      const last = (await chain(all, () => ({ mode }))).at(-1) ?? parent;
      const later = await all.create(parent, 'later');
      await kernel.memory.update(parent, note, { n: 2 });
      await kernel.shutdown();
      const again = (await kernelFixture({ store: path })).kernel;
      const isLive = mode === 'worker';
      expect(await readOrCode(again, last, note)).toEqual({ n: isLive ? 2 : 1 });
      expect(await readOrCode(again, last, later)).toBe(isLive ? 'later' : 'NO_SUCH_OBJECT');
      // Its view contains its own goal and the goals of all its ancestors.
      expect((await again.memory.query(last, { types: ['goal'] })).items.length).toBe(levels + 1);
      await checkInvariants(again, path);
    },
    60_000,
  );

  it('shows each one what was written above it, and is merged one level at a time', async () => {
    const all = await parentAndChildren();
    const { kernel, path, parent, note, read } = all;
    const pids = await chain(all, () => ({ mode: 'copy' }));
    const last = pids.at(-1) ?? parent;
    await kernel.memory.update(last, note, 'from below');
    const made = await all.create(last, 'made below');
    expect([await read(pids.at(-2) ?? '', note), await read(parent, note)]).toEqual([{ n: 1 }, { n: 1 }]);
    for (const [level, pid] of [...pids.entries()].reverse()) {
      await kernel.processes.exit(pid);
      const { merged, adopted } = await kernel.memory.merge(pids[level - 1] ?? parent, pid);
      expect([merged, adopted]).toEqual([[note.id], [made.id]]);
    }
    expect([await read(parent, note), await read(parent, made)]).toEqual(['from below', 'made below']);
    await checkInvariants(kernel, path);
  }, 60_000);

  it('loses the right to write where one of them has it not, and nothing else', async () => {
    const all = await parentAndChildren();
    const { kernel, note, read, refused } = all;
    const pids = await chain(all, (level) => ({ mode: level === 40 ? 'restricted' : 'copy' }));
    const [above, below] = [pids[39] ?? '', pids.at(-1) ?? ''];
    await kernel.memory.update(above, note, 'above');
    expect((await refused(() => kernel.memory.update(below, note, 'below'))).code).toBe('NO_SUCH_OBJECT');
    expect([await read(above, note), await read(below, note)]).toEqual(['above', { n: 1 }]);
  }, 60_000);
});
