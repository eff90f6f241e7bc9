import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Kernel } from '../../src/index.js';
import { newStore, openKernel } from '../support/kernel.js';
import { isSweep } from '../support/seeded.js';

const processes = 100_000;
const timeout = 1_200_000;

/** Ended processes in trees of 500, a tenth of them with labels, an id, a result and a capability. */
async function makeEnded(kernel: Kernel): Promise<void> {
  for (let made = 0; made < processes; made += 500) {
    const root = await kernel.processes.spawn({ id: `root-${made}` });
    const specOf = (n: number) => (n % 10 === 0 ? { id: `c${n}`, labels: { n: String(n) }, goal: `Look at ${n}` } : {});
    const children = await Promise.all(
      Array.from({ length: 499 }, (_, n) => kernel.processes.spawnChild(root, specOf(n))),
    );
    await Promise.all(children.slice(0, 50).map((pid) => kernel.processes.complete(pid, { done: pid })));
    await kernel.processes.kill(root);
  }
}

function measure(store: string): { readonly bytes: number; readonly pages: number; readonly free: number } {
  const db = new Database(store, { readonly: true });
  try {
    const sql = "SELECT sum(pgsize) FROM dbstat WHERE name NOT LIKE '%event%' AND name NOT LIKE '%audit%'";
    const pragma = (name: string) => Number(db.pragma(name, { simple: true }));
    const bytes = Number(db.prepare(sql).pluck().get());
    return { bytes, pages: pragma('page_count'), free: pragma('freelist_count') };
  } finally {
    db.close();
  }
}

// In the sweep only, which prints how long callers wait. A small version is in test/kernel/pruned-parts.test.ts.
describe.skipIf(!isSweep)('prune of 100,000 processes beside a working kernel', { timeout }, () => {
  it('lets other callers work meanwhile, and gives the room back', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, durability: 'normal', node: { executor: false } });
    await makeEnded(kernel);
    const live = await kernel.processes.spawn({});
    const before = measure(store);
    const startedAt = performance.now();
    let isPruning = true;
    const prune = kernel.processes.prune({ endedBefore: Number.MAX_SAFE_INTEGER }).finally(() => {
      isPruning = false;
    });
    const waits: number[] = [];
    while (isPruning) {
      const from = performance.now();
      await kernel.processes.charge(live, { tokens: 1 });
      waits.push(performance.now() - from);
      await nextTurn();
    }
    const { pruned } = await prune;
    const seconds = (performance.now() - startedAt) / 1_000;
    const after = measure(store);
    waits.sort((a, b) => a - b);
    console.log({
      pruned,
      seconds,
      calls: waits.length,
      longest: waits.at(-1),
      p999: waits[Math.floor(waits.length * 0.999)],
      before,
      after,
    });
    expect([pruned, after.free]).toEqual([processes, 0]);
    expect(after.bytes).toBeLessThan(before.bytes / 5);
    expect(after.pages).toBeLessThan(before.pages);
  });
});
