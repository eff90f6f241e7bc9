import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createKernel, type Kernel, Store } from '../../src/index.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';

describe('while another connection holds the write lock', () => {
  it('a call waits and succeeds, reads are answered, and the event loop keeps turning', async () => {
    const store = newStore();
    const kernel = await openKernel({ store });
    const root = await kernel.processes.spawn({});
    const ticks = countTicks();
    const lock = holdLock(store);
    const calls = Promise.all(Array.from({ length: 20 }, () => kernel.processes.spawnChild(root, {})));
    let settled = false;
    void calls.then(() => {
      settled = true;
    });
    for (const end = performance.now() + 1_000; performance.now() < end; await sleep(20)) {
      expect(await kernel.processes.children(root)).toEqual([]);
    }
    expect(settled).toBe(false);
    lock.release();
    expect(new Set(await calls).size).toBe(20);
    expect(ticks()).toBeGreaterThan(20);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('a call is refused with STORE_BUSY after 5 s, and the next one after the release succeeds', async () => {
    const store = newStore();
    const kernel = await openKernel({ store });
    const lock = holdLock(store);
    const ticks = countTicks();
    const refused = await refusal(kernel.processes.spawn({}));
    expect(refused).toMatchObject({ code: 'STORE_BUSY' });
    expect(ticks()).toBeGreaterThan(100);
    lock.release();
    expect(await kernel.processes.spawn({})).toMatch(/^p_/);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('time that a call has spent behind others does not count as waiting for the lock', async () => {
    const path = newStore();
    const kernel = await openKernel({ store: path });
    const store = kernel.container.get(Store);
    let lock: { release(): void } | undefined;
    const channel = {
      seal: async () => undefined,
      committed: () => {
        lock = holdLock(path);
        setTimeout(() => lock?.release(), 200);
      },
    };
    const slow = store.write(async (tx) => {
      tx.defer(channel, undefined);
      letSecondsPass(6);
    });
    const behind = store.write(async () => 'done');
    await slow;
    expect(lock).toBeDefined();
    expect(await behind).toBe('done');
  });

  it('shutdown ends after what was accepted has been refused', async () => {
    const store = newStore();
    const kernel = await createKernel({ store });
    const lock = holdLock(store);
    const accepted = refusal(kernel.processes.spawn({}));
    await kernel.shutdown();
    expect(await accepted).toMatchObject({ code: 'STORE_BUSY' });
    lock.release();
    expect(await findInconsistencies(await openKernel({ store }))).toEqual([]);
  });

  it('200,000 calls can wait at once, and all succeed when it is free', async () => {
    const store = newStore();
    const kernel = await openKernel({ store });
    const lock = holdLock(store);
    setTimeout(() => lock.release(), 300);
    let done = 0;
    const call = () => kernel.container.get(Store).write(async () => ++done);
    await Promise.all(Array.from({ length: 200_000 }, call));
    expect(done).toBe(200_000);
  });

  it('opening waits for it too', async () => {
    const store = newStore();
    const first = await openKernel({ store });
    const pid = await first.processes.spawn({});
    const lock = holdLock(store);
    const opening = createKernel({ store });
    setTimeout(() => lock.release(), 300);
    const second = await opening;
    expect(await second.processes.get(pid)).toMatchObject({ pid });
    await second.shutdown();
  });

  it('a new database is created once the lock on the empty file is gone', async () => {
    const store = newStore();
    const raw = new Database(store);
    onTestFinished(() => void raw.close());
    raw.exec('BEGIN IMMEDIATE');
    setTimeout(() => raw.exec('ROLLBACK'), 300);
    const kernel = await openKernel({ store });
    expect(await kernel.processes.spawn({})).toMatch(/^p_/);
  });
});

describe('several kernels of one program on one file', () => {
  it('all work, see each other, and block nobody', async () => {
    const folder = tempFolder();
    const store = join(folder, 'a.db');
    const kernels: Kernel[] = [];
    for (let n = 0; n < 3; n++) kernels.push(await openKernel({ store, node: { pollMs: 20 } }));
    const [first, second] = kernels as [Kernel, Kernel];
    const root = await first.processes.spawn({ budget: { children: 100 } });
    const ticks = countTicks();
    const children = await Promise.all(
      Array.from({ length: 60 }, (_, n) => (kernels[n % 3] as Kernel).processes.spawnChild(root, {})),
    );
    expect(ticks()).toBeGreaterThan(0);
    const waits = children.map((child) => second.processes.wait(root, child));
    await Promise.all(children.map((child) => first.processes.exit(child, { result: child })));
    expect((await Promise.all(waits)).map(({ value }) => value)).toEqual(children);
    for (const kernel of kernels) expect(await findInconsistencies(kernel)).toEqual([]);
    expect((await second.processes.budget(root)).children.used).toBe(0);
  });

  it('go on when one of them is shut down in the middle', async () => {
    const store = newStore();
    const staying = await openKernel({ store });
    const leaving = await createKernel({ store });
    const root = await staying.processes.spawn({});
    const calls = Array.from({ length: 40 }, (_, n) =>
      (n % 2 === 0 ? staying : leaving).processes.spawnChild(root, {}),
    );
    const outcomes = Promise.allSettled(calls);
    await leaving.shutdown();
    const spawned = (await outcomes).filter(({ status }) => status === 'fulfilled').length;
    expect(await staying.processes.children(root)).toHaveLength(spawned);
    expect(spawned).toBeGreaterThanOrEqual(20);
    await staying.processes.spawnChild(root, {});
    expect(await findInconsistencies(staying)).toEqual([]);
  });
});

function holdLock(path: string): { release(): void } {
  const raw = new Database(path, { timeout: 0 });
  raw.exec('BEGIN IMMEDIATE');
  const release = () => {
    if (raw.open) raw.close();
  };
  onTestFinished(release);
  return { release };
}

/** From now on the clock that measures waiting is so much ahead, as after work that took so long. */
function letSecondsPass(seconds: number): void {
  const real = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + seconds * 1_000);
  onTestFinished(() => void clock.mockRestore());
}

/** Counts the ticks of a timer of 10 ms. */
function countTicks(): () => number {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 10);
  onTestFinished(() => clearInterval(timer));
  return () => ticks;
}
