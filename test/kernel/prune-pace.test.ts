import { performance } from 'node:perf_hooks';
import { ContainerModule } from 'inversify';
import { describe, expect, it } from 'vitest';
import { PruneRepository } from '../../src/kernel/process/prune-repository.js';
import { SqlPruneRepository } from '../../src/storage/repository/sql-prune-repository.js';
import { UnitPace } from '../../src/unit/unit-pace.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel } from '../support/kernel.js';

/** A machine on which the rows of a process take longer than a unit should. */
class SlowPruneRepository extends SqlPruneRepository {
  override async clear(...args: Parameters<SqlPruneRepository['clear']>): Promise<boolean> {
    for (const until = performance.now() + 15; performance.now() < until; );
    return super.clear(...args);
  }
}

describe('prune', () => {
  it('takes smaller units on a slow machine, and removes everything all the same', async () => {
    const store = await newStore();
    const slow = new ContainerModule(({ bind }) => {
      bind(PruneRepository).to(SlowPruneRepository);
    });
    const kernel = await openKernel({ store, modules: [slow], node: { executor: false } });
    const root = await kernel.processes.spawn({});
    for (let n = 0; n < 40; n++) await kernel.processes.spawnChild(root, {});
    await kernel.processes.kill(root);
    expect(await kernel.processes.prune({ endedBefore: Number.MAX_SAFE_INTEGER })).toEqual({ pruned: 41 });
    const { items } = await kernel.events.list({ types: ['processes.pruned'] });
    const sizes = items.map(({ data }) => (data as { count: number }).count);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(41);
    // The first unit is not known to be slow; one process alone takes too long, so that the others are as small as can be.
    expect(sizes.slice(3).every((size) => size === 1)).toBe(true);
    await checkInvariants(kernel, store);
  });
});

describe('the pace of units', () => {
  it('shrinks by slow units and grows by fast ones, within its limits', () => {
    const pace = new UnitPace();
    const first = pace.partOf(400);
    pace.adapt(20);
    expect(pace.partOf(400)).toBe(first / 2);
    for (let unit = 0; unit < 20; unit++) pace.adapt(1_000);
    expect([pace.partOf(400), pace.partOf(25)]).toEqual([8, 1]);
    for (let unit = 0; unit < 40; unit++) pace.adapt(0);
    expect([pace.partOf(400), pace.partOf(25)]).toEqual([400, 25]);
  });

  it('keeps a size that takes as long as it should', () => {
    const pace = new UnitPace();
    const first = pace.partOf(1_000);
    for (let unit = 0; unit < 20; unit++) pace.adapt(10);
    expect(pace.partOf(1_000)).toBe(first);
  });

  it('does not count the wait for others, nor a unit that was refused', async () => {
    const pace = new UnitPace();
    const first = pace.partOf(1_000);
    expect(await pace.measure(async () => 'done')).toBe('done');
    const refused = pace.measure(async (begin) => {
      begin();
      throw new Error('no');
    });
    await expect(refused).rejects.toThrow('no');
    expect(pace.partOf(1_000)).toBe(first);
  });
});
