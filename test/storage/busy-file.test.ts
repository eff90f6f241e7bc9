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
    const store = await newStore();
    const kernel = await openKernel({ store });
    const root = await kernel.processes.spawn({});
    stoppedClock();
    const lock = holdLock(store);
    const calls = Promise.all(Array.from({ length: 20 }, () => kernel.processes.spawnChild(root, {})));
    let settled = false;
    void calls.then(() => {
      settled = true;
    });
    for (let timer = 0; timer < 20; timer++) {
      await sleep(10);
      expect(await kernel.processes.children(root)).toEqual([]);
    }
    expect(settled).toBe(false);
    lock.release();
    expect(new Set(await calls).size).toBe(20);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('a call is refused with STORE_BUSY after 5 s, and the next one after the release succeeds', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store });
    const clock = stoppedClock();
    const lock = holdLock(store);
    let isRefused = false;
    const refused = refusal(kernel.processes.spawn({})).finally(() => {
      isRefused = true;
    });
    await waitForAttempts();
    clock.advance(4_999);
    await waitForAttempts();
    expect(isRefused).toBe(false);
    clock.advance(1);
    expect(await refused).toMatchObject({ code: 'STORE_BUSY' });
    lock.release();
    expect(await kernel.processes.spawn({})).toMatch(/^p_/);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('time that a call has spent behind others does not count as waiting for the lock', async () => {
    const path = await newStore();
    const kernel = await openKernel({ store: path });
    const store = kernel.container.get(Store);
    const clock = stoppedClock();
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
      clock.advance(6_000);
    });
    const behind = store.write(async () => 'done');
    await slow;
    expect(lock).toBeDefined();
    expect(await behind).toBe('done');
  });

  it('shutdown ends after what was accepted has been refused', async () => {
    const store = await newStore();
    const kernel = await createKernel({ logger: 'silent', store });
    const clock = stoppedClock();
    const lock = holdLock(store);
    const accepted = refusal(kernel.processes.spawn({}));
    await waitForAttempts();
    let isClosed = false;
    const closed = kernel.shutdown().finally(() => {
      isClosed = true;
    });
    // The writes of shutdown itself wait for the lock too.
    for (; !isClosed; await sleep(5)) clock.advance(1_000);
    await closed;
    expect(await accepted).toMatchObject({ code: 'STORE_BUSY' });
    lock.release();
    expect(await findInconsistencies(await openKernel({ store }))).toEqual([]);
  });

  it('200,000 calls can wait at once, and all succeed when it is free', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store });
    stoppedClock();
    const lock = holdLock(store);
    let done = 0;
    const call = () => kernel.container.get(Store).write(async () => ++done);
    const calls = Promise.all(Array.from({ length: 200_000 }, call));
    await waitForAttempts();
    expect(done).toBe(0);
    lock.release();
    await calls;
    expect(done).toBe(200_000);
  });

  it('opening waits for it too', async () => {
    const store = await newStore();
    const first = await openKernel({ store });
    const pid = await first.processes.spawn({});
    const lock = holdLock(store);
    const opening = createKernel({ logger: 'silent', store });
    setTimeout(() => lock.release(), 300);
    const second = await opening;
    expect(await second.processes.get(pid)).toMatchObject({ pid });
    await second.shutdown();
  });

  it('a new database is created once the lock on the empty file is gone', async () => {
    const store = await newStore();
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
    const turns = countTurns();
    const children = await Promise.all(
      Array.from({ length: 60 }, (_, n) => (kernels[n % 3] as Kernel).processes.spawnChild(root, {})),
    );
    expect(turns()).toBeGreaterThan(0);
    const waits = children.map((child) => second.processes.wait(root, child));
    await Promise.all(children.map((child) => first.processes.exit(child, { result: child })));
    expect((await Promise.all(waits)).map(({ value }) => value)).toEqual(children);
    for (const kernel of kernels) expect(await findInconsistencies(kernel)).toEqual([]);
    expect((await second.processes.budget(root)).children.used).toBe(0);
  });

  it('go on when one of them is shut down in the middle', async () => {
    const store = await newStore();
    const staying = await openKernel({ store });
    const leaving = await createKernel({ logger: 'silent', store });
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

/** The clock that measures waiting stands until it is moved. */
function stoppedClock(): { advance(ms: number): void } {
  // A whole number, so that sums and differences are exact.
  let now = Math.ceil(performance.now());
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => void clock.mockRestore());
  return {
    advance: (ms) => {
      now += ms;
    },
  };
}

/** Resolves when every waiting call has found the file locked at least once: they try again after 41 ms at most. */
async function waitForAttempts(): Promise<void> {
  for (let timer = 0; timer < 3; timer++) await sleep(50);
}

/** Counts the turns of the event loop. */
function countTurns(): () => number {
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  onTestFinished(() => clearImmediate(next));
  return () => turns;
}
