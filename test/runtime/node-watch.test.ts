import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import {
  createKernel,
  defineImage,
  type Kernel,
  type KernelOptions,
  OsProcesses,
  Store,
  StoreError,
} from '../../src/index.js';
import { NodeLease } from '../../src/runtime/node/node-lease.js';
import { Recovery } from '../../src/runtime/node/recovery.js';
import { gate } from '../support/gate.js';
import { newStore, openKernel, tempFolder } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { movableMonotonicClock } from '../support/monotonic-clock.js';
import { nodeEvents, nodesIn } from '../support/node-rows.js';

const other = 'n_other';
/** So long that nothing happens by itself during a test. */
const leaseMs = 3_600_000;

/** A kernel beside another node that holds a process; the monotonic clock is set forward by hand. */
async function watchFixture(options: KernelOptions = {}) {
  const set = await kernelFixture();
  const nodes = nodesIn(set.path);
  await nodes.addElsewhere(other, { lease_ms: leaseMs });
  const pid = await set.kernel.processes.spawn({ image: 'worker' });
  await set.edit(pid, { status: 'running', node: other, started_at: 1 });
  const kernel = await openKernel({ store: set.path, node: { leaseMs }, durability: 'normal', ...options });
  const clock = movableMonotonicClock();
  return {
    kernel,
    nodes,
    look: () => kernel.container.get(Recovery).recoverLostNodes(),
    /** Time passes, and the kernel renews its own lease as it goes. */
    async passWithRenewals(ms: number) {
      for (let passed = 0; passed < ms; passed += leaseMs / 3) {
        clock.advance(Math.min(leaseMs / 3, ms - passed));
        await kernel.container.get(NodeLease).renew();
      }
    },
    passWithoutRenewals: (ms: number) => clock.advance(ms),
    status: async () => (await set.row(pid)).status,
  };
}

describe('a node of another machine', () => {
  it('is given up when its row has not changed for a lease period, and not before', async () => {
    const set = await watchFixture();
    await set.passWithRenewals(leaseMs - 1_000);
    await set.look();
    expect(await set.status()).toBe('running');
    await set.passWithRenewals(2_000);
    await set.look();
    expect(await set.status()).toBe('runnable');
    const [lapsed] = await nodeEvents(set.kernel);
    expect(lapsed).toMatchObject({ type: 'node.lapsed', data: { node: other, reason: 'lapsed' } });
  });

  it('is alive while its row changes, although by its clock its lease lapsed long ago', async () => {
    const set = await watchFixture();
    for (let renewals = 1; renewals < 8; renewals++) {
      await set.passWithRenewals(leaseMs / 2);
      await set.nodes.edit(other, { renewals, expires_at: 1 });
      await set.look();
    }
    expect(await set.status()).toBe('running');
  });

  it('is given its own lease period where that is longer', async () => {
    const set = await watchFixture();
    await set.nodes.edit(other, { lease_ms: 3 * leaseMs, renewals: 1 });
    await set.look();
    await set.passWithRenewals(2 * leaseMs);
    await set.look();
    expect(await set.status()).toBe('running');
    await set.passWithRenewals(leaseMs + 1_000);
    await set.look();
    expect(await set.status()).toBe('runnable');
  });

  it('is given another period when this node itself has not renewed its lease', async () => {
    const set = await watchFixture();
    set.passWithoutRenewals(10 * leaseMs);
    await set.look();
    expect(await set.status()).toBe('running');
    await set.passWithRenewals(1);
    await set.look();
    await set.passWithRenewals(leaseMs - 1_000);
    await set.look();
    expect(await set.status()).toBe('running');
    await set.passWithRenewals(2_000);
    await set.look();
    expect(await set.status()).toBe('runnable');
  });

  it.each([
    ['renew its own lease', 'write', (kernel: Kernel) => kernel.container.get(NodeLease).renew()],
    ['look at the others', 'read', (kernel: Kernel) => kernel.container.get(Recovery).recoverLostNodes()],
  ] as const)('is given another period when this node could not %s: nor could the other', async (_what, unit, fail) => {
    const set = await watchFixture();
    await set.passWithRenewals(leaseMs - 1_000);
    const unavailable = new StoreError('STORE_UNAVAILABLE', 'The server is down.', {
      hint: 'Try again.',
      retryable: true,
    });
    const down = vi.spyOn(set.kernel.container.get(Store), unit).mockRejectedValue(unavailable);
    await fail(set.kernel);
    down.mockRestore();
    await set.passWithRenewals(leaseMs - 1_000);
    await set.look();
    expect(await set.status()).toBe('running');
    await set.passWithRenewals(leaseMs + 1_000);
    await set.look();
    expect(await set.status()).toBe('runnable');
  });

  it('is left alone when it has renewed its lease by the time that its end would be written', async () => {
    const set = await watchFixture();
    await set.passWithRenewals(leaseMs + 1_000);
    const lock = await set.nodes.lock();
    const looking = set.look();
    // It has seen that the row has not changed by then, and waits for the lock to end the epoch.
    await sleep(100);
    await set.nodes.edit(other, { renewals: 1 });
    await lock[Symbol.asyncDispose]();
    await looking;
    expect([await set.status(), (await set.nodes.get(other))?.ended_at]).toEqual(['running', null]);
  });
});

describe('a node whose program is provably there', () => {
  it('is given two lease periods: it may be stopped, or busy', async () => {
    const set = await watchFixture();
    const host = JSON.stringify(set.kernel.container.get<OsProcesses>(OsProcesses).self());
    await set.nodes.edit(other, { host, renewals: 1 });
    await set.look();
    await set.passWithRenewals(2 * leaseMs - 1_000);
    await set.look();
    expect(await set.status()).toBe('running');
    await set.passWithRenewals(2_000);
    await set.look();
    expect(await set.status()).toBe('runnable');
  });
});

describe('kernels whose clocks disagree', () => {
  it.each([
    ['lags by an hour', () => Date.now() - 3_600_000],
    ['stands still', () => 1_900_000_000_000],
  ])('run a step once where the clock of the one that runs it %s', async (_which, now) => {
    const store = await newStore();
    let runs = 0;
    const finish = gate();
    const image = defineImage({
      name: 'slow',
      run: (ctx) =>
        ctx.step('work', async () => {
          runs++;
          await finish.opened;
          return runs;
        }),
    });
    const options = { store, workspace: tempFolder(), durability: 'normal', images: [image] } as const;
    const first = await openKernel({ ...options, clock: { now }, node: { leaseMs: 200 } });
    const pid = await first.processes.spawn({ image: 'slow' });
    await expect.poll(() => runs).toBe(1);
    const second = await createKernel({ logger: 'silent', ...options, node: { leaseMs: 200 } });
    const nodes = nodesIn(store);
    const renewed = ((await nodes.get(second.nodeId))?.renewals ?? 0) + 12;
    await expect.poll(async () => (await nodes.get(second.nodeId))?.renewals).toBeGreaterThan(renewed);
    finish.open();
    expect((await first.processes.result(pid)).value).toBe(1);
    expect([runs, await nodeEvents(first)]).toEqual([1, []]);
    await second.shutdown();
  });
});
