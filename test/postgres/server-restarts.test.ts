import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Kernel, KernelError, type Pid } from '../../src/index.js';
import { openKernel, refusal } from '../support/kernel.js';
import { startProxy } from '../support/pg-proxy.js';
import { connectPlain } from '../support/postgres-databases.js';
import { type OwnServer, startPostgres } from '../support/postgres-server.js';
import { addressOf } from '../support/postgres-template.js';
import { findInconsistencies } from '../support/store-consistency.js';

let server: OwnServer;
let made = 0;
beforeAll(async () => {
  server = await startPostgres({ autovacuum: 'off' });
});
afterAll(() => server.stop());

/** The address of a new database of the server of this file. */
async function newDatabase(): Promise<string> {
  const name = `restarts_${++made}`;
  const client = await connectPlain(server.url);
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return addressOf(server.url, name);
}

/** Makes the call until it is carried out. One whose outcome is unknown is made again: it has an id. */
async function callUntilDone<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isPassing =
        error instanceof KernelError && /^STORE_(UNAVAILABLE|OUTCOME_UNKNOWN|READONLY)$/.test(error.code);
      if (!isPassing) throw error;
    }
  }
}

async function spawnMany(kernel: Kernel, parent: Pid, ids: readonly string[], onSpawn: () => void): Promise<void> {
  for (const id of ids) {
    await callUntilDone(() => kernel.processes.spawnChild(parent, { id, onConflict: 'keep' }));
    onSpawn();
  }
}

describe('a server that is restarted', () => {
  it('under load loses no acknowledged call, and carries none out twice', async () => {
    const store = await newDatabase();
    const kernels = await Promise.all([1, 2].map(() => openKernel({ store, node: { executor: false, pollMs: 20 } })));
    const [kernel] = kernels as [Kernel];
    const parent = await kernel.processes.spawn({ budget: { children: 1_000 } });
    let spawned = 0;
    let restarts: Promise<void> = Promise.resolve();
    const onSpawn = () => {
      if (++spawned % 30 !== 0 || spawned > 60) return;
      restarts = restarts.then(() => server.halt()).then(() => server.start());
    };
    const calls = kernels.flatMap((one, k) =>
      ['a', 'b'].map((name) =>
        spawnMany(
          one,
          parent,
          Array.from({ length: 30 }, (_, n) => `${name}${k}-${n}`),
          onSpawn,
        ),
      ),
    );
    await Promise.all(calls);
    await restarts;
    expect(await kernel.processes.children(parent, { limit: 1_000 })).toHaveLength(120);
    expect((await kernel.processes.budget(parent)).children).toMatchObject({ used: 120 });
    for (const one of kernels) expect(await one.audit.verify()).toMatchObject({ ok: true });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('gives a stream every event once, and a waiting caller its result', async () => {
    const store = await newDatabase();
    const [writer, reader] = (await Promise.all(
      [1, 2].map(() => openKernel({ store, node: { executor: false, pollMs: 20 } })),
    )) as [Kernel, Kernel];
    const first = await writer.processes.spawn({});
    const last = await writer.processes.spawn({});
    const result = reader.processes.result(last);
    await server.halt();
    await server.start();
    await callUntilDone(() => writer.processes.exit(first, { result: 1 }));
    await callUntilDone(() => writer.processes.exit(last, { result: 2 }));
    expect(await result).toMatchObject({ value: 2 });
    const { items } = await reader.events.list({ types: ['process.exited'] });
    expect(items.map(({ pid }) => pid)).toEqual([first, last]);
  });
});

describe('a standby', () => {
  it('is read with readOnly, refuses to be written, and goes on without commits that it never got once it is promoted', async () => {
    const store = await newDatabase();
    const earlier = await openKernel({ store, node: { executor: false } });
    const kept = await earlier.processes.spawn({ name: 'kept', budget: { children: 100 } });
    await earlier.shutdown();
    await server.halt();
    const standby = await server.startStandby();
    try {
      await server.start();
      const proxy = await startProxy(store);
      const errors: string[] = [];
      const logger = { warn: () => undefined, error: (_: object, message: string) => void errors.push(message) };
      const kernel = await openKernel({ store: proxy.store, logger, node: { executor: false, pollMs: 20 } });
      const lost: Pid[] = [];
      for (let n = 0; n < 20; n++) lost.push(await kernel.processes.spawnChild(kept, { name: `lost ${n}` }));
      const seen = collectSpawns(kernel, kept);

      const copy = addressOf(standby.url, new URL(store).pathname.slice(1));
      expect((await refusal(openKernel({ store: copy }))).code).toBe('STORE_READONLY');
      const looking = await openKernel({ store: copy, readOnly: true });
      expect((await looking.processes.list()).items.map(({ name }) => name)).toEqual(['kept']);
      expect((await refusal(looking.processes.spawn({}))).code).toBe('STORE_READONLY');
      await looking.shutdown();

      proxy.redirect(standby.url);
      proxy.cut();
      expect((await refusal(kernel.processes.spawnChild(kept, {}))).code).toBe('STORE_READONLY');
      const admin = await connectPlain(standby.url);
      await admin.query('SELECT pg_promote()');
      await admin.end();
      const found = await callUntilDone(() => kernel.processes.spawnChild(kept, { name: 'found' }));
      await expect.poll(() => errors.filter((message) => message.includes('lost commits'))).toHaveLength(1);
      expect((await kernel.processes.children(kept)).map(({ name }) => name)).toEqual(['found']);
      expect((await refusal(kernel.processes.get(lost[0] ?? ''))).code).toBe('NO_SUCH_PROCESS');
      expect((await kernel.processes.budget(kept)).children).toMatchObject({ used: 1 });
      // The stream goes on with the numbers that are given again.
      await expect.poll(() => seen.at(-1)).toBe(found);
      expect(await kernel.audit.verify()).toMatchObject({ ok: true });
      expect(await findInconsistencies(kernel)).toEqual([]);
    } finally {
      await standby.stop();
    }
  });
});

/** The children that a stream tells of, as they come. */
function collectSpawns(kernel: Kernel, parent: Pid): Pid[] {
  const seen: Pid[] = [];
  void (async () => {
    for await (const { pid } of kernel.events.stream({ types: ['process.spawned'], tree: parent }))
      seen.push(pid ?? '');
  })();
  return seen;
}
