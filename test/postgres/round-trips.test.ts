import { describe, expect, it } from 'vitest';
import { defineImage } from '../../src/index.js';
import { newStore, openKernel } from '../support/kernel.js';
import { countTrips, type Trips } from '../support/storage/round-trips.js';

/** What `work` adds. */
async function tripsOf(trips: Trips, work: () => Promise<unknown>): Promise<Trips> {
  const { writer, groups, reads } = trips;
  await work();
  return { writer: trips.writer - writer, groups: trips.groups - groups, reads: trips.reads - reads };
}

/** Such a node sends nothing by itself for as long as a test takes. */
const quiet = { executor: false, pollMs: 60_000, leaseMs: 86_400_000 } as const;

describe('round trips of calls', () => {
  it('a lone spawnChild is two round trips', async () => {
    const kernel = await openKernel({ node: quiet });
    const root = await kernel.processes.spawn({});
    await kernel.processes.spawnChild(root, {});
    const trips = countTrips();
    const took = await tripsOf(trips, () => kernel.processes.spawnChild(root, {}));
    expect(took).toEqual({ writer: 2, groups: 1, reads: 0 });
  });

  it('a spawnChild beside another writer is three, and four when that one has just come', async () => {
    const store = await newStore();
    const [kernel, other] = [await openKernel({ store, node: quiet }), await openKernel({ store, node: quiet })];
    const root = await kernel.processes.spawn({});
    await kernel.processes.spawnChild(root, {});
    await kernel.processes.spawnChild(root, {});
    await other.processes.spawn({});
    const trips = countTrips();
    const found = await tripsOf(trips, () => kernel.processes.spawnChild(root, {}));
    expect(found).toMatchObject({ writer: 4, groups: 1 });
    for (let round = 0; round < 3; round++) {
      await other.processes.spawn({});
      const beside = await tripsOf(trips, () => kernel.processes.spawnChild(root, {}));
      expect(beside).toMatchObject({ writer: 3, groups: 1 });
    }
  });

  it('a group of 64 spawns under one parent is two', async () => {
    const kernel = await openKernel({ node: quiet });
    const root = await kernel.processes.spawn({});
    await kernel.processes.spawnChild(root, {});
    const trips = countTrips();
    const spawns = () => Promise.all(Array.from({ length: 64 }, () => kernel.processes.spawnChild(root, {})));
    expect(await tripsOf(trips, spawns)).toEqual({ writer: 2, groups: 1, reads: 0 });
    expect(await kernel.processes.children(root)).toHaveLength(65);
  });

  it('a group that fills a tile of the audit log is two', async () => {
    const kernel = await openKernel({ node: quiet });
    const root = await kernel.processes.spawn({});
    const trips = countTrips();
    const spawn = () => kernel.processes.spawnChild(root, {});
    await spawn();
    // A tile has 256 records.
    for (let size = 0; size < 640; size += 64) {
      const spawns = () => Promise.all(Array.from({ length: 64 }, spawn));
      expect(await tripsOf(trips, spawns)).toMatchObject({ writer: 2, groups: 1 });
    }
    const { ok, size } = await kernel.audit.verify();
    expect({ ok, isLong: size > 640 }).toEqual({ ok: true, isLong: true });
  });

  it('a refused call is no more than one that is carried out', async () => {
    const kernel = await openKernel({ node: quiet });
    const root = await kernel.processes.spawn({ budget: { children: 1 } });
    await kernel.processes.spawnChild(root, {});
    const trips = countTrips();
    const refused = () =>
      expect(kernel.processes.spawnChild(root, {})).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED' });
    const { writer, groups } = await tripsOf(trips, refused);
    expect(writer).toBe(2 * groups);
  });
});

describe('round trips of bodies', () => {
  const child = defineImage({ name: 'child', run: async (ctx) => ctx.step('work', () => 1) });
  const parent = defineImage({
    name: 'parent',
    run: async (ctx) => (await ctx.wait(await ctx.spawnChild({ image: child }))).value ?? null,
  });

  it('a start, a step, a wait and an exit add none to those of their groups', async () => {
    const kernel = await openKernel({ images: [child, parent], node: { pollMs: 60_000 } });
    const live = async () => expect(await kernel.run(parent, {})).toBe(1);
    for (let round = 0; round < 3; round++) await live();
    const trips = countTrips();
    const { writer, groups } = await tripsOf(trips, live);
    expect(groups).toBeGreaterThan(0);
    expect(writer).toBe(2 * groups);
  });
});

describe('a read unit', () => {
  it('that memory answers asks for the number of the newest commit alone', async () => {
    const kernel = await openKernel({ node: quiet });
    const root = await kernel.processes.spawn({ name: 'root' });
    const trips = countTrips();
    const took = await tripsOf(trips, async () => {
      expect(await kernel.processes.get(root)).toMatchObject({ name: 'root' });
    });
    expect(took).toEqual({ writer: 0, groups: 0, reads: 1 });
  });

  it('asks once together with others', async () => {
    const kernel = await openKernel({ node: quiet });
    const root = await kernel.processes.spawn({});
    const trips = countTrips();
    const reads = () => Promise.all(Array.from({ length: 20 }, () => kernel.processes.get(root)));
    expect(await tripsOf(trips, reads)).toEqual({ writer: 0, groups: 0, reads: 1 });
  });

  it('finds what another node has committed just before', async () => {
    const store = await newStore();
    const [kernel, other] = [await openKernel({ store, node: quiet }), await openKernel({ store, node: quiet })];
    const root = await kernel.processes.spawn({});
    for (let round = 0; round < 20; round++) {
      const child = await other.processes.spawnChild(root, {});
      await other.processes.charge(root, { tokens: 1 });
      expect((await kernel.processes.budget(root)).tokens.used).toBe(round + 1);
      await other.processes.signal(child, 'kill');
      expect(await kernel.processes.get(child)).toMatchObject({ status: 'killed' });
      await kernel.processes.charge(root, { toolCalls: 1 });
    }
  });

  it('that comes while a group is open sees what the caller was told', async () => {
    const kernel = await openKernel({ node: quiet });
    const root = await kernel.processes.spawn({});
    let charged = 0;
    const charge = async () => {
      for (let round = 0; round < 25; round++) {
        await kernel.processes.charge(root, { tokens: 1 });
        charged++;
        const told = charged;
        expect((await kernel.processes.budget(root)).tokens.used).toBeGreaterThanOrEqual(told);
      }
    };
    await Promise.all([charge(), charge(), charge(), charge()]);
    expect((await kernel.processes.budget(root)).tokens.used).toBe(100);
  });
});
