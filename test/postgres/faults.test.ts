import { describe, expect, it } from 'vitest';
import type { Kernel, Pid } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { startProxy } from '../support/pg-proxy.js';
import { rawSql } from '../support/storage/raw-sql.js';

/** Ends the connections by which kernels write. */
async function terminateWriters(store: string): Promise<number> {
  const ended = await rawSql(
    store,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'procura % writer'`,
  );
  return ended.length;
}

/** Spawns children one after another; a call that the store refuses is made again with its id. */
async function spawnMany(kernel: Kernel, parent: Pid, ids: readonly string[], onSpawn: () => void): Promise<void> {
  for (const id of ids) {
    for (let isDone = false; !isDone; ) {
      try {
        await kernel.processes.spawnChild(parent, { id });
        isDone = true;
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/^STORE_(UNAVAILABLE|OUTCOME_UNKNOWN)$/) });
      }
    }
    onSpawn();
  }
}

describe('connections that end', () => {
  it('at random: every acknowledged call is kept, none is carried out twice', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    const root = await kernel.processes.spawn({ budget: { children: 1_000, tokens: 100_000 } });
    let spawned = 0;
    let ended: Promise<number> = Promise.resolve(0);
    const onSpawn = () => {
      if (++spawned % 7 === 0) ended = ended.then(async (count) => count + (await terminateWriters(store)));
    };
    const idsOf = (name: string) => Array.from({ length: 25 }, (_, n) => `${name}-${n}`);
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => spawnMany(kernel, root, idsOf(name), onSpawn)));
    expect(await ended).toBeGreaterThan(0);
    expect(await kernel.processes.children(root, { limit: 1_000 })).toHaveLength(100);
    expect((await kernel.processes.budget(root)).children).toMatchObject({ used: 100 });
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });

  it('for longer than a call waits are STORE_UNAVAILABLE, and work goes on when the server is back', async () => {
    const store = await newStore();
    const proxy = await startProxy(store);
    const kernel = await openKernel({ store: proxy.store, node: { executor: false } });
    const root = await kernel.processes.spawn({});
    proxy.stop();
    expect((await refusal(kernel.processes.spawnChild(root, {}))).code).toBe('STORE_UNAVAILABLE');
    expect((await refusal(kernel.processes.get(root))).code).toBe('STORE_UNAVAILABLE');
    proxy.resume();
    await kernel.processes.spawnChild(root, {});
    expect(await kernel.processes.children(root)).toHaveLength(1);
  });
});

describe('two kernels on one database', () => {
  it('see each other without notifications, and spend a budget exactly', async () => {
    const store = `${await newStore()}${'?'}listen=false`.replace('??', '?');
    const kernels = await Promise.all(
      [1, 2, 3].map(() => openKernel({ store, node: { executor: false, pollMs: 20 } })),
    );
    const [first, second] = kernels as [Kernel, Kernel, Kernel];
    const root = await first.processes.spawn({ budget: { tokens: 100 } });
    const seen = second.processes.result(root);
    const charged = await Promise.allSettled(
      kernels.flatMap((kernel) => Array.from({ length: 50 }, () => kernel.processes.charge(root, { tokens: 1 }))),
    );
    expect(charged.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
    expect((await second.processes.budget(root)).tokens).toMatchObject({ used: 100 });
    await first.processes.complete(root, 'done');
    expect(await seen).toMatchObject({ value: 'done' });
  });

  it('give a stream every event once and in one order', async () => {
    const store = await newStore();
    const kernels = await Promise.all([1, 2].map(() => openKernel({ store, node: { executor: false, pollMs: 20 } })));
    const total = 60;
    const seqs = kernels.map(async (kernel) => {
      const seen: number[] = [];
      for await (const { seq } of kernel.events.stream({ types: ['process.spawned'], after: 0 })) {
        if (seen.push(seq) === total) break;
      }
      return seen;
    });
    await Promise.all(
      kernels.map(async (kernel) => {
        for (let n = 0; n < total / 2; n++) await kernel.processes.spawn({});
      }),
    );
    const [left, right] = await Promise.all(seqs);
    expect(left).toEqual(right);
    expect(left).toEqual([...new Set(left)].sort((a, b) => a - b));
  });
});
