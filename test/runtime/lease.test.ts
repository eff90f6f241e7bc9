import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createKernel, type Kernel, type KernelOptions, Store } from '../../src/index.js';
import { NodeLease } from '../../src/runtime/node/node-lease.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';
import { kernelFixture, manualClock } from '../support/kernel-fixture.js';
import { movableMonotonicClock } from '../support/monotonic-clock.js';
import { nodeEvents, nodesIn } from '../support/node-rows.js';

const leaseMs = 300;

/** Kernels here register no images, so that they do not run the processes that a test assigns to them. */
function openNode(store: string, options: KernelOptions = {}): Promise<Kernel> {
  return openKernel({ store, durability: 'normal', node: { leaseMs }, ...options });
}

function assertLive(kernel: Kernel): Promise<void> {
  return kernel.container.get(Store).read((tx) => kernel.container.get(NodeLease).assertLive(tx));
}

async function countRecords(kernel: Kernel): Promise<unknown> {
  const events = await kernel.events.list({ limit: 10_000 });
  const records = await kernel.audit.list({ limit: 10_000 });
  return { events: events.items.length, records: records.items.length };
}

describe('a node that runs processes', () => {
  it('has a row with its epoch, its lease and the program it runs in', async () => {
    const store = await newStore();
    const clock = manualClock();
    const kernel = await openNode(store, { clock, node: { name: 'first' } });
    const row = await nodesIn(store).get(kernel.nodeId);
    expect(row).toMatchObject({
      name: 'first',
      epoch: 1,
      expires_at: clock.now() + 30_000,
      started_at: clock.now(),
      ended_at: null,
    });
    expect(JSON.parse(row?.host ?? '')).toMatchObject({ pid: process.pid });
    await assertLive(kernel);
  });

  it('is not registered by a kernel without an executor, or by one that only reads', async () => {
    const { kernel, path } = await kernelFixture();
    const reader = await createKernel({ logger: 'silent', store: path, readOnly: true });
    expect(await nodesIn(path).all()).toEqual([]);
    await reader.shutdown();
    await kernel.shutdown();
    expect(await nodesIn(path).all()).toEqual([]);
  });

  it('renews its lease again and again, without events or audit records', async () => {
    const store = await newStore();
    const kernel = await openNode(store);
    const nodes = nodesIn(store);
    const before = await countRecords(kernel);
    for (let renewal = 0; renewal < 3; renewal++) {
      const last = (await nodes.get(kernel.nodeId))?.expires_at ?? 0;
      await expect.poll(async () => (await nodes.get(kernel.nodeId))?.expires_at).toBeGreaterThan(last);
    }
    expect(await countRecords(kernel)).toEqual(before);
    expect((await nodes.get(kernel.nodeId))?.epoch).toBe(1);
  });

  it('goes on with the same epoch when its lease has lapsed and nobody has ended it', async () => {
    const store = await newStore();
    const kernel = await openNode(store);
    let lost = 0;
    kernel.container.get(NodeLease).onLost(() => lost++);
    const nodes = nodesIn(store);
    await nodes.edit(kernel.nodeId, { expires_at: 1 });
    await expect.poll(async () => (await nodes.get(kernel.nodeId))?.expires_at).toBeGreaterThan(1);
    expect([(await nodes.get(kernel.nodeId))?.epoch, lost]).toEqual([1, 0]);
    await assertLive(kernel);
  });

  it('does not lose its lease to a file that was busy for longer than a call waits', async () => {
    const store = await newStore();
    const logged: string[] = [];
    const logger = { warn: () => undefined, error: (_facts: unknown, text: string) => void logged.push(text) };
    const kernel = await openNode(store, { logger });
    const clock = movableMonotonicClock();
    const nodes = nodesIn(store);
    {
      await using _lock = await nodes.lock();
      const afterASecond = () => {
        clock.advance(1_000);
        return logged;
      };
      await expect.poll(afterASecond).toContain('the lease of this node could not be renewed');
    }
    const last = (await nodes.get(kernel.nodeId))?.expires_at ?? 0;
    await expect.poll(async () => (await nodes.get(kernel.nodeId))?.expires_at).toBeGreaterThan(last);
    expect(await nodes.get(kernel.nodeId)).toMatchObject({ epoch: 1, ended_at: null });
  });

  it('stops renewing when the store is closed under it', async () => {
    const logged: string[] = [];
    const logger = { warn: () => undefined, error: (_facts: unknown, text: string) => void logged.push(text) };
    const kernel = await openNode(await newStore(), { logger });
    await kernel.container.get(Store).close();
    // What else was under way with the store may fail too.
    const failures = () => logged.filter((text) => text === 'the lease of this node could not be renewed');
    await expect.poll(failures).toHaveLength(1);
    await sleep(leaseMs);
    expect(failures()).toHaveLength(1);
  });
});

describe('a node whose epoch was ended by another', () => {
  it('may claim nothing until it has registered again, with the next epoch', async () => {
    const store = await newStore();
    const kernel = await openNode(store);
    const nodes = nodesIn(store);
    let lost = 0;
    kernel.container.get(NodeLease).onLost(() => lost++);
    let epoch: number | undefined;
    while (epoch === undefined) {
      await nodes.edit(kernel.nodeId, { ended_at: 1 });
      // It cannot register while the store is locked, but it may have done so before.
      await using _lock = await nodes.lock();
      const row = await nodes.get(kernel.nodeId);
      if (row?.ended_at !== 1) continue;
      epoch = row.epoch;
      expect(await refusal(assertLive(kernel))).toEqual({ code: 'LEASE_LOST', facts: { node: kernel.nodeId, epoch } });
    }
    await expect.poll(() => lost).toBe(epoch);
    expect(await nodes.get(kernel.nodeId)).toMatchObject({ epoch: epoch + 1, ended_at: null });
    await assertLive(kernel);
    const { items } = await kernel.audit.list({ action: 'node.start', target: kernel.nodeId });
    expect(items).toHaveLength(epoch + 1);
    await checkInvariants(kernel, store);
  });

  it('registers again when its row is gone', async () => {
    const store = await newStore();
    const kernel = await openNode(store);
    const nodes = nodesIn(store);
    await nodes.remove(kernel.nodeId);
    await expect.poll(async () => (await nodes.get(kernel.nodeId))?.epoch).toBe(2);
    await expect.poll(() => codeOrFine(assertLive(kernel))).toBe('fine');
  });

  it('does not call a listener that was disposed', async () => {
    const store = await newStore();
    const kernel = await openNode(store);
    let lost = 0;
    kernel.container
      .get(NodeLease)
      .onLost(() => lost++)
      [Symbol.dispose]();
    const nodes = nodesIn(store);
    await nodes.edit(kernel.nodeId, { ended_at: 1 });
    await expect.poll(async () => (await nodes.get(kernel.nodeId))?.epoch).toBe(2);
    await expect.poll(() => codeOrFine(assertLive(kernel))).toBe('fine');
    expect(lost).toBe(0);
  });

  it('gives up nothing more when it is shut down before that', async () => {
    const { kernel: host, path, edit, row } = await kernelFixture();
    const pid = await host.processes.spawn({ image: 'worker' });
    const node = await openNode(path, { node: {} });
    const nodes = nodesIn(path);
    await edit(pid, { status: 'running', node: node.nodeId, started_at: 1 });
    await nodes.edit(node.nodeId, { ended_at: 1 });
    const before = await row(pid);
    await node.shutdown();
    expect(await row(pid)).toEqual(before);
    expect(await nodes.get(node.nodeId)).toMatchObject({ epoch: 1, ended_at: 1 });
    expect(await nodeEvents(host)).toEqual([]);
  });
});

describe('a node that is shut down', () => {
  it('gives back what it holds and its lease, and the record of it is signed', async () => {
    const { kernel: host, path, edit, row } = await kernelFixture();
    const spawn = () => host.processes.spawn({ image: 'worker' });
    const [again, once, held, stopping] = [await spawn(), await spawn(), await spawn(), await spawn()];
    const node = await openNode(path, { node: {} });
    const { nodeId } = node;
    for (const pid of [again, once, held, stopping])
      await edit(pid, { status: 'running', node: nodeId, started_at: 1 });
    await edit(once, { recovery: 'fail' });
    await host.processes.pause(held);
    await host.processes.cancel(stopping, 'enough');
    const fence = Number((await row(again)).fence);
    await node.shutdown();
    expect(await row(again)).toMatchObject({ status: 'runnable', node: null, fence: fence + 1 });
    expect(await row(held)).toMatchObject({ status: 'paused', previous: 'runnable', node: null, fence: fence + 1 });
    expect((await host.processes.get(once)).outcome).toEqual({
      kind: 'abandoned',
      reason: 'owner_lost',
      evidence: { kind: 'owner_lost', node: nodeId, reason: 'shutdown' },
    });
    expect((await host.processes.get(stopping)).outcome).toEqual({ kind: 'cancelled', reason: 'enough', by: 'host' });
    expect((await nodesIn(path).get(nodeId))?.ended_at).toBeGreaterThan(0);
    expect((await nodeEvents(host)).map(({ type, data }) => [type, data])).toEqual([
      ['node.stopped', { node: nodeId, released: 2, abandoned: 1 }],
    ]);
    const { items } = await host.audit.list({ action: 'node.stop' });
    expect(items).toMatchObject([{ target: nodeId, actor: 'host', outcome: 'ok' }]);
    expect((await host.audit.verify()).sealed).toBeGreaterThanOrEqual(items[0]?.seq ?? Number.NaN);
    await checkInvariants(host, path, { edited: true });
  });

  it('leaves alone what other nodes hold', async () => {
    const { kernel: host, path, edit, row } = await kernelFixture();
    const pid = await host.processes.spawn({ image: 'worker' });
    const [one, two] = [await openNode(path), await openNode(path)];
    await edit(pid, { status: 'running', node: two.nodeId, started_at: 1 });
    const before = await row(pid);
    await one.shutdown();
    expect(await row(pid)).toEqual(before);
  });
});

describe('a node that comes back under the id it had', () => {
  it('has the next epoch, and what was held under the id is not held any more', async () => {
    const { kernel: host, path, edit, row } = await kernelFixture();
    const pid = await host.processes.spawn({ image: 'worker' });
    let made = 0;
    const ids = {
      next: (kind: string) => (kind === 'node' ? 'n_same' : `${kind}-${process.hrtime.bigint()}-${++made}`),
    };
    const open = () =>
      createKernel({ logger: 'silent', store: path, ids, workspace: tempFolder(), durability: 'normal' });
    const first = await open();
    await edit(pid, { status: 'running', node: 'n_same', started_at: 1 });
    // As if it had been killed: its lease is not given back.
    await first.container.get(Store).close();
    const second = await open();
    expect(await nodesIn(path).all()).toMatchObject([{ id: 'n_same', epoch: 2, ended_at: null }]);
    expect(await row(pid)).toMatchObject({ status: 'runnable', node: null });
    await second.shutdown();
    await checkInvariants(host, path, { edited: true });
  });
});

function codeOrFine(call: Promise<void>): Promise<string> {
  return call.then(
    () => 'fine',
    () => 'refused',
  );
}
