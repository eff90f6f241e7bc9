import { describe, expect, it } from 'vitest';
import { defineImage, type JsonObject, type Kernel, type Pid } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel } from '../support/kernel.js';
import { openRawTables } from '../support/storage/raw-tables.js';

const quick = defineImage({ name: 'quick', run: async (ctx) => ctx.pid });

/** A host that runs nothing. */
const openHost = (store: string) => openKernel({ store, images: [quick], node: { executor: false, pollMs: 10 } });

const openNode = (store: string, concurrency = 64, images = [quick]) =>
  openKernel({ store, images, node: { concurrency, pollMs: 10 } });

async function spawnMany(host: Kernel, count: number, image = 'quick'): Promise<Pid[]> {
  const pids: Pid[] = [];
  for (let made = 0; made < count; made++) pids.push(await host.processes.spawn({ image }));
  return pids;
}

/** The processes that were started, in the order of their starts, with the node of each. */
async function starts(kernel: Kernel): Promise<{ pid: Pid | undefined; node: unknown }[]> {
  const { items } = await kernel.events.list({ types: ['process.started'], limit: 1_000 });
  return items.map(({ pid, data }) => ({ pid, node: (data as JsonObject).node }));
}

describe('a node that claims what it finds', () => {
  it('begins with the oldest, whatever the number of its slots', async () => {
    const store = await newStore();
    const host = await openHost(store);
    const pids = await spawnMany(host, 40);
    const node = await openNode(store, 3);
    for (const pid of pids) expect(await host.processes.value(pid)).toBe(pid);
    expect((await starts(host)).map(({ pid }) => pid)).toEqual(pids);
    expect(new Set((await starts(host)).map((start) => start.node))).toEqual(new Set([node.nodeId]));
  });

  it('takes no slot for what it does not get, and no more than it has', async () => {
    const store = await newStore();
    const host = await openHost(store);
    let working = 0;
    let most = 0;
    const counted = defineImage({
      name: 'quick',
      run: async (ctx) => {
        most = Math.max(most, ++working);
        await ctx.step('work', async () => 1);
        working--;
        return ctx.pid;
      },
    });
    const node = await openNode(store, 2, [counted]);
    const pids = await spawnMany(host, 30);
    for (const pid of pids) expect(await host.processes.value(pid)).toBe(pid);
    expect(most).toBeLessThanOrEqual(2);
    await node.idle();
    expect(await host.processes.value(await host.processes.spawn({ image: 'quick' }))).toEqual(expect.any(String));
  });

  it('leaves one that cannot be claimed, and claims the others', async () => {
    const store = await newStore();
    const host = await openHost(store);
    const pids = await spawnMany(host, 5);
    const [first = '', bad = '', ...rest] = pids;
    await openRawTables(store).update('processes', { pid: bad }, { args: '{' });
    const told: unknown[] = [];
    const logger = { warn: () => undefined, error: (facts: object) => void told.push(facts) };
    await openKernel({ store, images: [quick], node: { pollMs: 10 }, logger });
    for (const pid of [first, ...rest]) expect(await host.processes.value(pid)).toBe(pid);
    await eventually(() => expect(told).toContainEqual({ pids: [bad] }));
    await openRawTables(store).update('processes', { pid: bad }, { args: '{}' });
    expect((await host.processes.get(bad)).status).toBe('runnable');
  });
});

describe('several nodes on one store', () => {
  it('run every process once, and share what there is by their slots', async () => {
    const store = await newStore();
    const host = await openHost(store);
    const nodes = [await openNode(store, 4), await openNode(store, 4), await openNode(store, 4)];
    const pids = await spawnMany(host, 60);
    for (const pid of pids) expect(await host.processes.value(pid)).toBe(pid);
    const started = (await starts(host)).map(({ pid }) => pid);
    expect([...started].sort()).toEqual([...pids].sort());
    const ids = new Set<unknown>(nodes.map(({ nodeId }) => nodeId));
    for (const { node } of await starts(host)) expect(ids).toContain(node);
  });

  it('end their children in one order, in which a wait of all gets them', async () => {
    const store = await newStore();
    const host = await openHost(store);
    await openNode(store, 2);
    await openNode(store, 2);
    const parent = await host.processes.spawn({ budget: { children: 50 } });
    const children: Pid[] = [];
    for (let made = 0; made < 40; made++) children.push(await host.processes.spawnChild(parent, { image: 'quick' }));
    for (const pid of children) await host.processes.result(pid);
    const rows = await openRawTables(store).rows('processes');
    const places = rows.flatMap(({ exit_order }) => (exit_order === null ? [] : [Number(exit_order)]));
    expect([...places].sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    const { items } = await host.events.list({ types: ['process.exited'], limit: 1_000 });
    const byPlace = rows
      .filter(({ exit_order }) => exit_order !== null)
      .sort((a, b) => Number(a.exit_order) - Number(b.exit_order));
    expect(byPlace.map(({ pid }) => pid)).toEqual(items.map(({ pid }) => pid));
  });

  it('leave the queues of each other alone', async () => {
    const store = await newStore();
    const host = await openHost(store);
    const left = await openKernel({ store, images: [quick], node: { queues: ['left'], pollMs: 10, concurrency: 2 } });
    const right = await openKernel({ store, images: [quick], node: { queues: ['right'], pollMs: 10, concurrency: 2 } });
    const pids: Pid[] = [];
    for (let made = 0; made < 20; made++)
      pids.push(await host.processes.spawn({ image: 'quick', queue: made % 2 === 0 ? 'left' : 'right' }));
    for (const pid of pids) await host.processes.result(pid);
    const nodeOf = new Map((await starts(host)).map(({ pid, node }) => [pid, node]));
    expect(pids.map((pid) => nodeOf.get(pid))).toEqual(
      pids.map((_pid, index) => (index % 2 === 0 ? left.nodeId : right.nodeId)),
    );
  });
});
