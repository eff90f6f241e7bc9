import { describe, expect, it } from 'vitest';
import { RevocationSweep } from '../../src/capability/holding/revocation-sweep.js';
import { defineImage, type Kernel, type Pid } from '../../src/index.js';
import { gate } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';
import { openRawTables } from '../support/storage/raw-tables.js';
import { countDuring, countStatements, type StatementCounts } from '../support/storage/statement-counts.js';

const child = defineImage({ name: 'child', run: async () => 1 });
const parent = defineImage({
  name: 'parent',
  run: async (ctx) => (await ctx.wait(await ctx.spawnChild({ image: child }))).value ?? null,
});

describe('with one caller', () => {
  it('a parent that spawns a child and waits for it takes 60 statements and 4 commits at the most', async () => {
    const counts = countStatements();
    const kernel = await openKernel({ images: [child, parent] });
    const live = async () => kernel.processes.value(await kernel.processes.spawn({ image: parent }));
    for (let round = 0; round < 5; round++) expect(await live()).toBe(1);
    const lives: StatementCounts[] = [];
    for (let round = 0; round < 5; round++) lives.push(await countDuring(counts, live));
    // The lease of the node is renewed meanwhile, which is a commit of its own.
    const took = lives.reduce((least, one) => (one.commits < least.commits ? one : least));
    expect(took.commits).toBe(4);
    expect(took.statements).toBeLessThanOrEqual(60);
  });

  it('a child of a process that is known takes one commit, and reads nothing', async () => {
    const counts = countStatements();
    const kernel = await openKernel({ node: { executor: false } });
    const root = await kernel.processes.spawn({});
    await kernel.processes.spawnChild(root, {});
    const took = await countDuring(counts, () => kernel.processes.spawnChild(root, {}));
    // BEGIN, data_version and COMMIT; six rows of the child and its parent's account; an event and a record.
    expect(took).toEqual({ statements: 11, reads: 0, commits: 1, groups: 1 });
  });
});

/** A kernel that knows nothing yet of what stands in the store. */
const openAgain = (store: string) => openKernel({ store, images: [child], node: { executor: false } });

/** The reads of `work` on trees of 200 and of 400 processes that the kernel knows nothing of. */
async function readsOfTrees(
  spawnTree: (kernel: Kernel, size: number) => Promise<Pid>,
  work: (kernel: Kernel, root: Pid) => Promise<unknown>,
): Promise<number[]> {
  const reads: number[] = [];
  for (const size of [200, 400]) {
    const store = await newStore();
    const first = await openAgain(store);
    const root = await spawnTree(first, size);
    await first.shutdown();
    const counts = countStatements();
    const kernel = await openAgain(store);
    reads.push((await countDuring(counts, () => work(kernel, root))).reads);
  }
  return reads;
}

async function spawnWide(kernel: Kernel, size: number): Promise<Pid> {
  const root = await kernel.processes.spawn({});
  await Promise.all(Array.from({ length: size - 1 }, () => kernel.processes.spawnChild(root, {})));
  return root;
}

async function spawnTall(kernel: Kernel, size: number): Promise<Pid> {
  const root = await kernel.processes.spawn({});
  for (let branch = 0; branch < size / 20; branch++) {
    let above = root;
    for (let level = 0; level < 20; level++) above = await kernel.processes.spawnChild(above, {});
  }
  return root;
}

async function spawnBusy(kernel: Kernel, size: number): Promise<Pid> {
  const root = await spawnWide(kernel, size);
  for (const { pid } of (await kernel.processes.children(root)).slice(0, 40)) {
    await kernel.processes.send(pid, { hello: 'there' });
    await kernel.processes.reserve(pid, { tokens: 5 });
  }
  return root;
}

/** The more rows, the more parts: far fewer than one read for each. */
function expectParts([small = 0, large = 0]: number[]): void {
  expect(small).toBeLessThan(60);
  expect(large - small).toBeLessThan(30);
}

describe('what is done to many processes at once reads them together', () => {
  it('when a wide tree is killed', async () => {
    expectParts(await readsOfTrees(spawnWide, (kernel, root) => kernel.processes.signal(root, 'kill')));
  });

  it('when a tall tree is cancelled', async () => {
    expectParts(await readsOfTrees(spawnTall, (kernel, root) => kernel.processes.signal(root, 'cancel')));
  });

  it('when processes end that have reservations and messages', async () => {
    expectParts(await readsOfTrees(spawnBusy, (kernel, root) => kernel.processes.signal(root, 'kill')));
  });

  it('when children outlive their parent', async () => {
    const spawnDetached = async (kernel: Kernel, size: number) => {
      const root = await kernel.processes.spawn({});
      const spec = { onParentExit: 'detach' } as const;
      for (let child = 1; child < size; child++) await kernel.processes.spawnChild(root, spec);
      return root;
    };
    const endParent = (kernel: Kernel, root: Pid) => kernel.processes.signal(root, 'kill', { tree: false });
    expectParts(await readsOfTrees(spawnDetached, endParent));
  });

  it('when processes of a scope are paused', async () => {
    expectParts(await readsOfTrees(spawnWide, (kernel, root) => kernel.processes.signal({ tree: root }, 'pause')));
  });

  it('when capabilities below a revoked one are marked', async () => {
    const spawnDelegated = async (kernel: Kernel, size: number) => {
      const rights = ['call' as const, 'grant' as const];
      const root = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:search', rights }] });
      const delegate = [{ resource: 'tool:search', rights: ['call' as const] }];
      for (let child = 1; child < size; child++) await kernel.processes.spawnChild(root, { delegate });
      return root;
    };
    const revoke = async (kernel: Kernel, root: Pid) => {
      const [held] = (await kernel.capabilities.list(root)).filter(({ resource }) => resource === 'tool:search');
      await kernel.capabilities.revoke(held?.id ?? '');
      await kernel.container.get(RevocationSweep).waitUntilIdle();
    };
    expectParts(await readsOfTrees(spawnDelegated, revoke));
  });

  it('when a process that holds much is asked about for the first time', async () => {
    const spawnHolder = async (kernel: Kernel, size: number) => {
      const holder = await kernel.processes.spawn({});
      for (let giver = 1; giver < size / 4; giver++) {
        const rights = ['call' as const, 'grant' as const];
        const pid = await kernel.processes.spawn({ capabilities: [{ resource: `tool:t${giver}`, rights }] });
        await kernel.capabilities.delegate(pid, holder, { resource: `tool:t${giver}`, rights: ['call'] });
      }
      return holder;
    };
    expectParts(await readsOfTrees(spawnHolder, (kernel, pid) => kernel.capabilities.check(pid, 'call', 'tool:t1')));
  });

  it('when a node is lost, with what it ran', async () => {
    const reads: number[] = [];
    for (const size of [40, 200]) {
      const store = await newStore();
      const first = await openAgain(store);
      for (let made = 0; made < size; made++) await first.processes.spawn({ image: child });
      await first.shutdown();
      const recovery = (index: number) => (index % 2 === 0 ? 'fail' : 'rerun');
      const raw = openRawTables(store);
      for (const [index, { pid = null }] of (await raw.rows('processes')).entries())
        await raw.update(
          'processes',
          { pid },
          { status: 'running', node: 'n_gone', started_at: 1, recovery: recovery(index) },
        );
      const counts = countStatements();
      const took = await countDuring(counts, () => openKernel({ store }));
      reads.push(took.reads);
      const { items } = await (await openAgain(store)).events.list({ types: ['process.released'], limit: 1_000 });
      expect(items).toHaveLength(size / 2);
    }
    const [small = 0, large = 0] = reads;
    expect(large - small).toBeLessThan(30);
  });

  it('when a charge goes to many accounts', async () => {
    const store = await newStore();
    const first = await openAgain(store);
    let pid = await first.processes.spawn({ budget: { depth: 50 } });
    for (let level = 0; level < 40; level++) pid = await first.processes.spawnChild(pid, {});
    await first.shutdown();
    const counts = countStatements();
    const kernel = await openAgain(store);
    const { reads } = await countDuring(counts, () => kernel.processes.charge(pid, { tokens: 1 }));
    expect(reads).toBeLessThan(15);
  });

  it('when a node claims what waits for it', async () => {
    const counts = countStatements();
    const reads: number[] = [];
    for (const waiting of [4, 32]) {
      const store = await newStore();
      const host = await openAgain(store);
      for (let made = 0; made < waiting; made++) await host.processes.spawn({ image: 'child' });
      const begun = gate();
      let running = 0;
      const held = defineImage({
        name: 'child',
        run: async (ctx) => {
          if (++running === waiting) begun.open();
          await ctx.receive();
          return 1;
        },
      });
      const node = await openKernel({ store, images: [held], node: { start: false, pollMs: 10_000 } });
      const took = await countDuring(counts, async () => {
        await node.start();
        await begun.opened;
      });
      reads.push(took.reads);
      await node.shutdown();
      await host.shutdown();
    }
    const [few = 0, many = 0] = reads;
    expect(many - few).toBeLessThan(12);
  });
});

describe('nodes on one store', () => {
  it('do not try to claim what another one starts with its spawn', async () => {
    const counts = countStatements();
    const store = await newStore();
    const open = () => openKernel({ store, images: [child], node: { pollMs: 10 } });
    const [spawner, watcher] = [await open(), await open(), await open()];
    await watcher.idle();
    const took = await countDuring(counts, async () => {
      for (let round = 0; round < 20; round++) {
        expect(await spawner.processes.value(await spawner.processes.spawn({ image: 'child' }))).toBeDefined();
      }
      await watcher.idle();
    });
    // Two for each process, and some for renewals of leases.
    expect(took.groups).toBeLessThan(50);
    const { items } = await watcher.events.list({ types: ['process.started'] });
    for (const { data } of items) expect(data).toMatchObject({ node: spawner.nodeId });
  });
});
