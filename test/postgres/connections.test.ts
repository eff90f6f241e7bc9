import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { packageVersion } from '../../src/base/package/package-version.js';
import { createKernel, type Kernel } from '../../src/index.js';
import { newStore, openKernel } from '../support/kernel.js';
import { connectPlain } from '../support/postgres-databases.js';
import { rawSql } from '../support/storage/raw-sql.js';

/** The connections that kernels open from now on, but those that are closed already. */
function watchConnections(): () => pg.Client[] {
  const clients: pg.Client[] = [];
  const prototype = pg.Client.prototype as { connect: (...args: never[]) => unknown };
  const { connect } = prototype;
  prototype.connect = function (this: pg.Client, ...args: never[]) {
    clients.push(this);
    return connect.apply(this, args);
  };
  onTestFinished(() => {
    prototype.connect = connect;
  });
  return () => clients.filter((client) => !(client as object as { _ending: boolean })._ending);
}

async function useEverything(kernel: Kernel): Promise<void> {
  const root = await kernel.processes.spawn({ budget: { tokens: 100 } });
  await Promise.all(Array.from({ length: 10 }, () => kernel.processes.spawnChild(root, {})));
  await kernel.processes.charge(root, { tokens: 1_000 }).catch(() => undefined);
  await kernel.processes.list({ name: 'x' });
  await kernel.audit.verify();
  await kernel.processes.exit(root);
}

const ownSettings = `SELECT name FROM pg_settings WHERE source = 'session' ORDER BY name`;

describe('connections', () => {
  it('have no state of their own after a transaction but prepared statements', async () => {
    const store = await newStore();
    const open = watchConnections();
    const kernel = await openKernel({ store, node: { executor: false, pollMs: 60_000 }, durability: 'normal' });
    await useEverything(kernel);
    const clients = open();
    expect(clients.length).toBeGreaterThanOrEqual(3);
    const look = async () => {
      const found = [];
      for (const client of clients) {
        const { rows: settings } = await client.query(ownSettings);
        const { rows: state } = await client.query(
          `SELECT current_schema() IS NOT DISTINCT FROM 'procura' AS here, now() <> statement_timestamp() AS busy,
             (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory')::int AS locks`,
        );
        found.push({ settings, ...state[0] });
      }
      return found;
    };
    // One of them may be asked while it is within a transaction.
    const stateless = { settings: [], here: false, busy: false, locks: 0 };
    await expect.poll(look).toEqual(clients.map(() => stateless));
  });

  it('keep prepared statements, and none with ?prepare=false', async () => {
    const counts: number[][] = [];
    for (const parameters of ['', '?prepare=false']) {
      const store = `${await newStore()}${parameters}`;
      const open = watchConnections();
      const kernel = await openKernel({ store, node: { executor: false, pollMs: 60_000 } });
      await useEverything(kernel);
      const prepared = open().map(async (client) => {
        const { rows } = await client.query('SELECT count(*)::int AS prepared FROM pg_prepared_statements');
        return (rows[0] as { prepared: number }).prepared;
      });
      counts.push(await Promise.all(prepared));
    }
    expect(counts[0]?.some((count) => count > 5)).toBe(true);
    expect(counts[1]?.every((count) => count === 0)).toBe(true);
  });

  it('say by application_name what they are for, and leave when the kernel is shut down', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    await useEverything(kernel);
    const names = `SELECT DISTINCT application_name AS name FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'procura %.%' ORDER BY 1`;
    expect((await rawSql<{ name: string }>(store, names)).map(({ name }) => name)).toEqual(
      ['listener', 'reader', 'writer'].map((role) => `procura ${packageVersion} ${role}`),
    );
    await kernel.shutdown();
    await expect.poll(() => rawSql(store, names)).toEqual([]);
    expect(await rawSql(store, 'SELECT id FROM writers')).toEqual([]);
  });
});

describe('two schemas of one database', () => {
  it('are two stores, with processes, events and logs of their own', async () => {
    const store = await newStore();
    const other = `${store}?schema=other`;
    const first = await openKernel({ store, node: { executor: false } });
    const second = await createKernel({ store: other, logger: 'silent', node: { executor: false } });
    try {
      const pid = await first.processes.spawn({ name: 'first' });
      await second.processes.spawn({ name: 'second' });
      expect((await first.processes.list()).items.map(({ name }) => name)).toEqual(['first']);
      expect((await second.processes.list()).items.map(({ name }) => name)).toEqual(['second']);
      await expect(second.processes.get(pid)).rejects.toMatchObject({ code: 'NO_SUCH_PROCESS' });
      const logs = await Promise.all([first, second].map(async ({ audit }) => (await audit.checkpoint()).log));
      expect(new Set(logs).size).toBe(2);
      expect(await second.audit.verify()).toMatchObject({ ok: true });
    } finally {
      await second.shutdown();
      const client = await connectPlain(store);
      await client.query('DROP SCHEMA other CASCADE');
      await client.end();
    }
  });
});
