import { describe, expect, it } from 'vitest';
import { defineImage, type Kernel, type Syscalls } from '../../src/index.js';
import { gate } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';
import { type PgProxy, startProxy } from '../support/pg-proxy.js';
import { findInconsistencies } from '../support/store-consistency.js';

interface Fixture {
  readonly proxy: PgProxy;
  /** A node behind the proxy. */
  readonly node: Kernel;
  /** A kernel that runs nothing, beside the proxy. */
  readonly observer: Kernel;
  /** Resolves when an error was logged that holds the text. */
  logged(text: string): Promise<void>;
}

/** `run` is the body of the image `worker`. */
async function fixture(run: (ctx: Syscalls) => Promise<unknown>): Promise<Fixture> {
  const store = await newStore();
  const proxy = await startProxy(store);
  const texts: string[] = [];
  const logger = {
    warn: () => undefined,
    error: (facts: object, text: string) => void texts.push(`${text} ${JSON.stringify(facts)}`),
  };
  const image = defineImage({ name: 'worker', run: run as () => Promise<null> });
  // So long that no renewal of the lease is among the commits.
  const lease = { leaseMs: 3_600_000, pollMs: 20, listen: false } as const;
  const node = await openKernel({ store: proxy.store, images: [image], logger, node: lease });
  const observer = await openKernel({ store, images: [image], node: { executor: false, pollMs: 20 } });
  const logged = (text: string) =>
    expect.poll(() => texts.filter((line) => line.includes(text)), { timeout: 60_000 }).not.toEqual([]);
  return { proxy, node, observer, logged };
}

describe('a commit whose answer is lost for longer than a call waits', () => {
  it('and that has claimed a process: the process runs all the same', async () => {
    const { proxy, observer, logged } = await fixture(async () => 'ran');
    const stopped = proxy.decideNextCommit('answer lost', { andStop: true });
    const pid = await observer.processes.spawn({ image: 'worker' });
    await stopped;
    await logged('could not be claimed');
    proxy.resume();
    expect(await observer.processes.result(pid)).toMatchObject({ status: 'exited', value: 'ran' });
    expect(await findInconsistencies(observer)).toEqual([]);
  });

  it('and that has spawned and started a process: the process runs all the same', async () => {
    const { proxy, node, observer } = await fixture(async () => 'ran');
    const stopped = proxy.decideNextCommit('answer lost', { andStop: true });
    const spawned = node.processes.spawn({ id: 'job', image: 'worker' }).catch((error: { code: string }) => error.code);
    await stopped;
    expect(await spawned).toBe('STORE_OUTCOME_UNKNOWN');
    proxy.resume();
    const pid = await node.processes.spawn({ id: 'job', image: 'worker' });
    expect(await observer.processes.result(pid)).toMatchObject({ status: 'exited', value: 'ran' });
    expect(await findInconsistencies(observer)).toEqual([]);
  });

  it('and that was made by a body: the body is run again, and gets the answer that was committed', async () => {
    const begin = gate();
    let stopped: Promise<void> | undefined;
    const gaveUp = gate();
    const { proxy, observer } = await fixture(async (ctx) => {
      await begin.opened;
      stopped ??= proxy.decideNextCommit('answer lost', { andStop: true });
      return ctx.spawnChild({ image: 'base' }).finally(() => gaveUp.open());
    });
    const pid = await observer.processes.spawn({ image: 'worker' });
    begin.open();
    await gaveUp.opened;
    await stopped;
    proxy.resume();
    const { value, status } = await observer.processes.result(pid);
    expect(status).toBe('exited');
    expect((await observer.processes.children(pid)).map((child) => child.pid)).toEqual([value]);
    expect(await findInconsistencies(observer)).toEqual([]);
  });

  it('and that has ended a process: its end is found, and not made again', async () => {
    const begin = gate();
    let stopped: Promise<void> | undefined;
    const { proxy, node, observer } = await fixture(async () => {
      await begin.opened;
      stopped = proxy.decideNextCommit('answer lost', { andStop: true });
      return 'ended';
    });
    const pid = await observer.processes.spawn({ image: 'worker' });
    begin.open();
    expect(await observer.processes.result(pid)).toMatchObject({ status: 'exited', value: 'ended' });
    await stopped;
    proxy.resume();
    await node.idle();
    expect((await node.events.list({ pid, types: ['process.exited'] })).items).toHaveLength(1);
    expect(await findInconsistencies(observer)).toEqual([]);
  });
});
