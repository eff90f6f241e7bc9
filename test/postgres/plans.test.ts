import { describe, expect, it } from 'vitest';
import { defineImage, type Kernel, type Pid } from '../../src/index.js';
import { gate } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';
import { nodesIn } from '../support/node-rows.js';
import { countTrips } from '../support/storage/round-trips.js';

const worker = defineImage({ name: 'worker', run: () => new Promise<null>(() => undefined) });

/** Two kernels: what the first writes, the second has not in memory. */
async function twoKernels(): Promise<{ first: Kernel; second: Kernel; store: string }> {
  const store = await newStore();
  const options = { store, images: [worker], node: { executor: false } } as const;
  const first = await openKernel(options);
  return { first, second: await openKernel(options), store };
}

async function spawnTree(kernel: Kernel, width: number, image = 'base'): Promise<{ root: Pid; all: Pid[] }> {
  const root = await kernel.processes.spawn({ image, budget: { tokens: 1_000_000 } });
  const children = await Promise.all(Array.from({ length: width }, () => kernel.processes.spawnChild(root, { image })));
  const below = await Promise.all(children.map((child) => kernel.processes.spawnChild(child, { image })));
  return { root, all: [root, ...children, ...below] };
}

async function tripsOf(work: () => Promise<unknown>): Promise<number> {
  const trips = countTrips();
  await work();
  return trips.writer;
}

/** With many more rows there are no more round trips, but for what other work of the kernels happens to begin meanwhile. */
function expectFew([few = 0, many = 0]: readonly number[]): void {
  expect(few).toBeGreaterThan(0);
  expect(many).toBeLessThan(few + 10);
}

describe('the round trips of a unit do not grow with the number of rows that it is about', () => {
  it('when a tree ends', async () => {
    const counts: number[] = [];
    for (const width of [5, 100]) {
      const { first, second } = await twoKernels();
      const { root, all } = await spawnTree(first, width);
      await Promise.all(all.map((pid) => first.processes.reserve(pid, { tokens: 1 })));
      await Promise.all(all.map((pid) => first.processes.send(pid, 'hello')));
      counts.push(await tripsOf(() => second.processes.kill(root)));
      expect((await first.processes.list({ status: 'killed', limit: 1_000 })).items).toHaveLength(all.length);
    }
    expectFew(counts);
  });

  it('when what comes from a capability is marked as revoked', async () => {
    const counts: number[] = [];
    for (const width of [5, 100]) {
      const { first, second } = await twoKernels();
      const spec = { resource: 'tool:search', rights: ['call' as const] };
      const giver = await first.processes.spawn({ capabilities: [{ ...spec, delegable: true }] });
      const takers = await Promise.all(Array.from({ length: width }, () => first.processes.spawn({})));
      await Promise.all(takers.map((taker) => first.capabilities.delegate(giver, taker, spec)));
      const source = (await first.capabilities.list(giver)).find(({ resource }) => resource === 'tool:search');
      counts.push(
        await tripsOf(async () => {
          await second.capabilities.revoke(source?.id ?? '');
          await expect
            .poll(async () => (await second.events.list({ types: ['capabilities.swept'] })).items)
            .toHaveLength(1);
        }),
      );
    }
    expectFew(counts);
  });

  it('when a node is given up', async () => {
    const counts: number[] = [];
    for (const width of [5, 100]) {
      const { first, store } = await twoKernels();
      const { all } = await spawnTree(first, width, 'worker');
      const nodes = nodesIn(store);
      await nodes.addElsewhere('n_other', { ended_at: 1 });
      await nodes.holdAll('n_other');
      counts.push(await tripsOf(() => openKernel({ store, node: { leaseMs: 3_600_000 } })));
      const { items } = await first.events.list({ types: ['process.released'], limit: 1_000 });
      expect(items).toHaveLength(all.length);
    }
    expectFew(counts);
  });

  it('when processes are claimed', async () => {
    const counts: number[] = [];
    for (const width of [2, 32]) {
      const { first, store } = await twoKernels();
      for (let n = 0; n < width; n++) await first.processes.spawn({ image: 'worker', goal: `goal ${n}` });
      const all = gate();
      let begun = 0;
      const image = defineImage({
        name: 'worker',
        run: async () => {
          if (++begun === width) all.open();
          await new Promise(() => undefined);
          return null;
        },
      });
      counts.push(
        await tripsOf(async () => {
          await openKernel({ store, images: [image], node: { leaseMs: 3_600_000 } });
          await all.opened;
        }),
      );
    }
    expectFew(counts);
  });
});
