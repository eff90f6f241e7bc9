import { describe, expect, it } from 'vitest';
import { type Kernel, Store } from '../../src/index.js';
import { Connection } from '../../src/storage/sqlite/connection.js';
import { WriteUnit } from '../../src/storage/units/write-unit.js';
import { openKernel, refusal } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';

describe('a full disk', () => {
  it('refuses with STORE_FULL, loses nothing that was acknowledged, and the kernel works again with room', async () => {
    const kernel = await openKernel();
    const root = await kernel.processes.spawn({});
    const limit = await limitPages(kernel);
    const acknowledged: string[] = [];
    const codes = new Set<string>();
    const goal = { text: 'x'.repeat(3_000) };
    for (let round = 0; round < 20; round++) {
      const calls = Array.from({ length: 16 }, () => kernel.processes.spawnChild(root, { goal }));
      for (const outcome of await Promise.allSettled(calls)) {
        if (outcome.status === 'fulfilled') acknowledged.push(outcome.value);
        else codes.add(outcome.reason.code);
      }
    }
    expect([...codes]).toEqual(['STORE_FULL']);
    expect(await pidsUnder(kernel, root)).toEqual(acknowledged.sort());
    await limit.lift();
    expect(await findInconsistencies(kernel)).toEqual([]);
    const later = await kernel.processes.spawnChild(root, { goal });
    expect(await pidsUnder(kernel, root)).toEqual([...acknowledged, later].sort());
    await kernel.processes.cancel(root);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('refuses every unit of a group that has no room at all', async () => {
    const kernel = await openKernel();
    const root = await kernel.processes.spawn({});
    const limit = await limitPages(kernel, 0);
    const goalOf = (n: number) => ({ text: `${n}`.repeat(50_000) });
    const spawn = (_: unknown, n: number) => kernel.processes.spawnChild(root, { goal: goalOf(n) });
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, spawn));
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code)).toEqual(
      outcomes.map(() => 'STORE_FULL'),
    );
    expect(await pidsUnder(kernel, root)).toEqual([]);
    await limit.lift();
    expect(await Promise.all(Array.from({ length: 8 }, spawn))).toHaveLength(8);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('can be left by ending processes and looked at while it lasts', async () => {
    const kernel = await openKernel();
    const root = await kernel.processes.spawn({});
    const limit = await limitPages(kernel);
    expect(await refusal(kernel.processes.spawn({ goal: { text: 'x'.repeat(500_000) } }))).toMatchObject({
      code: 'STORE_FULL',
    });
    expect(await kernel.processes.get(root)).toMatchObject({ pid: root });
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
    await limit.lift();
    await kernel.processes.exit(root);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

async function pidsUnder(kernel: Kernel, root: string): Promise<string[]> {
  return (await kernel.processes.children(root)).map(({ pid }) => pid).sort();
}

/** Leaves room for so many pages more, as a disk that is almost full does. */
async function limitPages(kernel: Kernel, pages = 40): Promise<{ lift(): Promise<void> }> {
  const set = (limit: (count: number) => number) =>
    kernel.container.get(Store).write(async (tx) => {
      if (!(tx instanceof WriteUnit && tx.connection instanceof Connection)) throw new Error('this is no SQLite store');
      const { raw } = tx.connection;
      raw.pragma(`max_page_count = ${limit(Number(raw.pragma('page_count', { simple: true })))}`);
    });
  await set((count) => count + pages);
  return { lift: () => set(() => 1_000_000) };
}
