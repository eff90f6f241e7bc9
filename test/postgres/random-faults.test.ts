import { describe, expect, it } from 'vitest';
import { type Kernel, KernelError, type Pid } from '../../src/index.js';
import { newStore, openKernel } from '../support/kernel.js';
import { type CommitFate, type PgProxy, startProxy } from '../support/pg-proxy.js';
import { isSweep } from '../support/seeded.js';
import { rawSql } from '../support/storage/raw-sql.js';
import { findInconsistencies } from '../support/store-consistency.js';

const sweepMs = Number(process.env.PROCURA_SWEEP_MS ?? 0);
const fates: readonly CommitFate[] = ['lost', 'answer lost', 'taken back', 'answer withheld'];

/** Numbers from 0 to 1 that a seed decides, so that a run can be repeated as far as the machine allows. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Totals {
  acknowledged: number;
  /** Calls of which nobody knows whether they were carried out. */
  unknown: number;
}

/** Charges one token, and counts what came of it. A refusal must be typed. */
async function charge(kernel: Kernel, pid: Pid, totals: Totals): Promise<void> {
  try {
    await kernel.processes.charge(pid, { tokens: 1 });
    totals.acknowledged++;
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    expect(error.code).toMatch(/^STORE_(UNAVAILABLE|OUTCOME_UNKNOWN|BUSY)$/);
    if (error.code === 'STORE_OUTCOME_UNKNOWN') totals.unknown++;
  }
}

/** Something that goes wrong, before the next call. */
async function breakSomething(random: () => number, proxy: PgProxy, store: string): Promise<void> {
  const kind = Math.floor(random() * 4);
  if (kind === 0) proxy.cut();
  if (kind === 1) {
    await rawSql(
      store,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'procura %.% %'`,
    );
  }
  if (kind < 2) return;
  const fate = fates[Math.floor(random() * fates.length)] ?? 'lost';
  // Nobody waits for a network that brings what it has withheld only later.
  void proxy.decideNextCommit(fate).then(() => proxy.deliver());
}

describe('random faults of server and network', () => {
  it('lose no acknowledged call, carry none out twice, and are told as typed errors', {
    timeout: 120_000 + sweepMs * 2,
  }, async () => {
    const random = randomNumbers(isSweep ? Date.now() : 1);
    const store = await newStore();
    const proxies = await Promise.all([1, 2].map(() => startProxy(`${store}?prepare=false`)));
    const kernels = await Promise.all(
      proxies.map((proxy) => openKernel({ store: proxy.store, node: { executor: false, pollMs: 20 } })),
    );
    const [kernel] = kernels as [Kernel];
    const pid = await kernel.processes.spawn({ budget: { tokens: 1_000_000 } });
    const totals: Totals = { acknowledged: 0, unknown: 0 };
    const until = performance.now() + sweepMs;
    for (let round = 0; round < 12 || performance.now() < until; round++) {
      const proxy = proxies[round % 2] as PgProxy;
      await breakSomething(random, proxy, store);
      await Promise.all(kernels.flatMap((one) => [1, 2, 3].map(() => charge(one, pid, totals))));
    }
    for (const proxy of proxies) proxy.resume();
    const { used } = (await kernel.processes.budget(pid)).tokens ?? { used: 0 };
    expect(totals.acknowledged).toBeGreaterThan(0);
    expect(used).toBeGreaterThanOrEqual(totals.acknowledged);
    expect(used).toBeLessThanOrEqual(totals.acknowledged + totals.unknown);
    for (const one of kernels) expect(await one.audit.verify()).toMatchObject({ ok: true });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});
