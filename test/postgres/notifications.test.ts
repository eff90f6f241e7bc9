import { describe, expect, it } from 'vitest';
import { defineImage, type Kernel, type KernelOptions } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { startProxy } from '../support/pg-proxy.js';
import { rawSql } from '../support/storage/raw-sql.js';
import { findInconsistencies } from '../support/store-consistency.js';
import { startPooler } from '../support/transaction-pooler.js';

const parent = defineImage({
  name: 'parent',
  run: async (ctx, args) => {
    const child = await ctx.spawnChild({ image: 'child', args: args ?? null });
    await ctx.send(child, 'hello');
    return (await ctx.wait(child)).value as string;
  },
});
const child = defineImage({ name: 'child', run: async (ctx) => (await ctx.receive()).body as string });

function withParameters(store: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(store);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** The numbers and types that a stream brings, up to the first event that `isLast`. */
async function follow(kernel: Kernel, isLast: (type: string, pid: string) => boolean): Promise<string[]> {
  const seen: string[] = [];
  for await (const { seq, type, pid = '' } of kernel.events.stream({ after: 0 })) {
    seen.push(`${seq} ${type} ${pid}`);
    if (isLast(type, pid)) break;
  }
  return seen;
}

const nodes = 3;
const each = 5;

/**
 * Kernels that write at the same time, run each other's processes, and wait for processes of each other. The stream of each brings
 * every event once, in one order. `midway` happens when some have ended.
 */
async function workTogether(store: string, options: KernelOptions['node'], midway?: () => void): Promise<Kernel[]> {
  const kernels: Kernel[] = [];
  for (let n = 0; n < nodes; n++) {
    kernels.push(
      await openKernel({ store, images: [parent, child], node: { pollMs: 20, concurrency: 4, ...options } }),
    );
  }
  const [first] = kernels as [Kernel];
  const last = 'the last process';
  const streams = kernels.map((kernel) => follow(kernel, (type, pid) => type === 'process.exited' && pid === end));
  const end = await first.processes.spawn({ name: last });
  let ended = 0;
  await Promise.all(
    kernels.map(async (kernel, n) => {
      for (let round = 0; round < each; round++) {
        const pid = await kernel.processes.spawn({ image: 'parent' });
        // Another node waits for it than the one that has spawned it.
        const other = kernels[(n + 1) % nodes] as Kernel;
        expect(await other.processes.result(pid)).toMatchObject({ value: 'hello' });
        if (++ended === Math.floor((nodes * each) / 2)) midway?.();
      }
    }),
  );
  await first.processes.exit(end);
  const [one, ...others] = await Promise.all(streams);
  const { items } = await first.events.list({ after: '0', limit: 10_000 });
  const log = items.map(({ seq, type, pid = '' }) => `${seq} ${type} ${pid}`);
  expect(one).toEqual(log.slice(0, one?.length));
  expect(one?.map((line) => Number(line.split(' ')[0]))).toEqual(one?.map((_line, index) => index + 1));
  for (const other of others) expect(other).toEqual(one);
  expect(await findInconsistencies(first)).toEqual([]);
  return kernels;
}

/** The number of connections of the server that listen. */
async function countListeners(store: string): Promise<number> {
  const rows = await rawSql(
    store,
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'procura % listener'",
  );
  return rows.length;
}

describe('nodes that write, stream and wait for each other at the same time', () => {
  it('with notifications', async () => {
    const store = await newStore();
    await workTogether(store, {});
    expect(await countListeners(store)).toBe(nodes);
  });

  it('without notifications, at the pace of the polls', async () => {
    const store = await newStore();
    await workTogether(store, { listen: false });
    expect(await countListeners(store)).toBe(0);
  });

  it('with notifications that are cut off and come back', async () => {
    const store = await newStore();
    const proxy = await startProxy(store);
    await workTogether(store, { listen: proxy.store }, () => proxy.stop());
    expect(await countListeners(store)).toBe(0);
    proxy.resume();
    await expect.poll(() => countListeners(store)).toBe(nodes);
  });

  it('with notifications that never come, although the server has taken LISTEN', async () => {
    const store = await newStore();
    // A database of the same server, where nobody notifies.
    const elsewhere = new URL(store);
    elsewhere.pathname = '/postgres';
    await workTogether(store, { listen: elsewhere.href });
  });

  it('behind a pooler that gives each transaction another connection, takes LISTEN and never notifies', async () => {
    const store = await newStore();
    const pooler = await startPooler(store, 4);
    await workTogether(withParameters(pooler.store, { prepare: 'false' }), {});
    expect(pooler.moves).toBeGreaterThan(nodes * each);
  });

  it('behind such a pooler, with notifications from the server itself', async () => {
    const store = await newStore();
    const pooler = await startPooler(store, 4);
    await workTogether(withParameters(pooler.store, { prepare: 'false' }), { listen: store });
    expect(await countListeners(store)).toBe(nodes);
  });
});

describe('node.listen', () => {
  it('is an address of PostgreSQL or false; what it holds is in no message', async () => {
    const store = await newStore();
    for (const listen of ['localhost:5432', 'mysql://a:hunter2secret@h/db', 'postgres://u:hunter2secret@h', '']) {
      const error = await openKernel({ store, node: { listen } }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'options.node.listen' } });
      expect(String((error as Error).message)).not.toContain('hunter2secret');
    }
  });

  it('is for a database: a file has no notifications, and false is always right', async () => {
    const listen = await newStore();
    const refused = await refusal(openKernel({ store: ':memory:', node: { listen } }));
    expect(refused).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'options.node.listen' } });
    await openKernel({ store: ':memory:', node: { listen: false } });
  });
});
