import { describe, expect, it } from 'vitest';
import { createKernel, type Kernel } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { rawSql } from '../support/storage/raw-sql.js';

/** The address with other parts. */
function addressWith(store: string, change: (url: URL) => void): string {
  const url = new URL(store);
  change(url);
  return url.href;
}

const open = (store: string, options = {}) => createKernel({ store, logger: 'silent', ...options });

describe('an address', () => {
  it('of a database that is not there is refused, and names it', async () => {
    const store = addressWith(await newStore(), (url) => {
      url.pathname = '/no_such_database';
    });
    expect(await refusal(open(store))).toMatchObject({ code: 'STORE_IO', facts: { database: 'no_such_database' } });
  });

  it('of a server that is not there is STORE_UNAVAILABLE', async () => {
    expect((await refusal(open('postgres://a:b@127.0.0.1:9/x'))).code).toBe('STORE_UNAVAILABLE');
  });

  it.each([
    'postgres://host',
    'postgres://h/db?schema=Bad-Name',
    'postgres://h/db?schema=pg_catalog',
    'postgres://h/db?prepare=maybe',
    'postgres://user:hunter2secret%@h/db',
    'postgres://user:hunter2secret@h/%E0%A4%A',
    'postgres://user:hunter2secret@h:port/db',
    'postgres://user:hunter2secret@h/db?listen=http%3A%2F%2Fuser%3Ahunter2secret%40h',
    'mysql://user:hunter2secret@h/db',
  ])('%s is INVALID_INPUT', async (store) => {
    const error = await open(store).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'INVALID_INPUT' });
    expect(String((error as Error).message)).not.toContain('hunter2secret');
  });
});

describe('a schema', () => {
  it('with tables of another program is STORE_FOREIGN, and stays as it is', async () => {
    const store = await newStore();
    await rawSql(store, 'CREATE SCHEMA theirs');
    await rawSql(store, 'CREATE TABLE theirs.accounts (id text)');
    const theirs = addressWith(store, (url) => url.searchParams.set('schema', 'theirs'));
    expect((await refusal(open(theirs))).code).toBe('STORE_FOREIGN');
    expect(await rawSql(store, "SELECT relname FROM pg_class WHERE relnamespace = 'theirs'::regnamespace")).toEqual([
      { relname: 'accounts' },
    ]);
    await rawSql(store, 'DROP SCHEMA theirs CASCADE');
  });

  it('of a newer release is SCHEMA_NEWER, and stays as it is', async () => {
    const store = await newStore();
    await rawSql(store, 'UPDATE head SET schema = schema + 1');
    try {
      const before = await rawSql(store, 'SELECT * FROM head');
      expect(await refusal(open(store))).toMatchObject({
        code: 'SCHEMA_NEWER',
        facts: { found: expect.any(Number), known: expect.any(Number) },
      });
      expect((await refusal(open(store, { readOnly: true }))).code).toBe('SCHEMA_NEWER');
      expect(await rawSql(store, 'SELECT * FROM head')).toEqual(before);
    } finally {
      await rawSql(store, 'UPDATE head SET schema = schema - 1');
    }
  });

  it.each([
    ['that writes', async (kernel: Kernel) => void (await kernel.processes.spawn({}).catch(() => undefined))],
    ['that only looks', async () => undefined],
  ])('that becomes newer ends the work of a kernel %s: nothing more is read or written', async (_, act) => {
    const store = await newStore();
    const errors: string[] = [];
    const logger = { warn: () => undefined, error: (_facts: object, message: string) => void errors.push(message) };
    const kernel = await createKernel({ store, logger, node: { leaseMs: 300, pollMs: 20 } });
    const pid = await kernel.processes.spawn({});
    await rawSql(store, 'UPDATE head SET schema = schema + 1');
    try {
      await act(kernel);
      await expect.poll(() => errors.filter((message) => message.includes('newer release'))).toHaveLength(1);
      const contents = async () => {
        const found = [];
        for (const table of ['head', 'nodes', 'events']) found.push(await rawSql(store, `SELECT * FROM ${table}`));
        return found;
      };
      const before = await contents();
      const calls = [
        () => kernel.processes.spawn({}),
        () => kernel.processes.get(pid),
        () => kernel.processes.list(),
        () => kernel.audit.verify(),
        () => kernel.events.list(),
        () => kernel.as(pid).spawnChild({}),
      ];
      for (const call of calls) expect((await refusal(call())).code).toBe('SCHEMA_NEWER');
      await kernel.shutdown().catch((error) => expect(error).toMatchObject({ code: 'SCHEMA_NEWER' }));
      // Its lease is left to lapse: whoever knows the tables gives the node up.
      expect(await contents()).toEqual(before);
    } finally {
      await kernel.shutdown().catch(() => undefined);
      await rawSql(store, 'UPDATE head SET schema = schema - 1');
    }
  });

  it('is made once by kernels that open an empty database at the same time', async () => {
    const store = addressWith(await newStore(), (url) => url.searchParams.set('schema', 'fresh'));
    const kernels = await Promise.all(Array.from({ length: 8 }, () => open(store, { node: { executor: false } })));
    const pids = await Promise.all(kernels.map((kernel) => kernel.processes.spawn({})));
    expect(new Set(pids).size).toBe(8);
    const [first] = kernels;
    expect((await first?.processes.list())?.items).toHaveLength(8);
    expect(await first?.audit.verify()).toMatchObject({ ok: true });
    for (const kernel of kernels) await kernel.shutdown();
    await rawSql(store.replace('?schema=fresh', ''), 'DROP SCHEMA fresh CASCADE').catch(() => undefined);
  });
});

describe('a database in which transactions may only read', () => {
  it('is opened with readOnly; without, it is STORE_READONLY', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    const pid = await kernel.processes.spawn({ name: 'seen' });
    await kernel.shutdown();
    const name = new URL(store).pathname.slice(1);
    await rawSql(store, `ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
    try {
      expect(await refusal(open(store))).toMatchObject({ code: 'STORE_READONLY', facts: { sqlstate: '25006' } });
      const looking = await open(store, { readOnly: true });
      expect(await looking.processes.get(pid)).toMatchObject({ name: 'seen' });
      expect((await refusal(looking.processes.spawn({}))).code).toBe('STORE_READONLY');
      await looking.shutdown();
    } finally {
      await rawSql(store, `ALTER DATABASE "${name}" RESET default_transaction_read_only`);
    }
  });
});

describe('a role that may not create schemas', () => {
  it('opens a database in one that was made for it, and is refused where there is none', async () => {
    const store = await newStore();
    const role = `tenant_${process.pid}`;
    await rawSql(store, `CREATE ROLE ${role} LOGIN PASSWORD 'r'`);
    await rawSql(store, `CREATE SCHEMA made AUTHORIZATION ${role}`);
    const addressOf = (schema: string) =>
      addressWith(store, (url) => {
        url.username = role;
        url.password = 'r';
        url.searchParams.set('schema', schema);
      });
    try {
      const kernel = await open(addressOf('made'), { node: { executor: false } });
      await kernel.processes.spawn({});
      await kernel.shutdown();
      expect((await refusal(open(addressOf('missing')))).code).toBe('STORE_READONLY');
    } finally {
      await rawSql(store, `DROP OWNED BY ${role} CASCADE`);
      await rawSql(store, `DROP ROLE ${role}`);
    }
  });
});

describe('a role that may only read', () => {
  it('opens with readOnly, and is refused without', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    const pid = await kernel.processes.spawn({ name: 'seen' });
    const role = `reader_${process.pid}`;
    await rawSql(store, `CREATE ROLE ${role} LOGIN PASSWORD 'r'`);
    await rawSql(store, `GRANT USAGE ON SCHEMA procura TO ${role}`);
    await rawSql(store, `GRANT SELECT ON ALL TABLES IN SCHEMA procura TO ${role}`);
    const reader = addressWith(store, (url) => {
      url.username = role;
      url.password = 'r';
    });
    try {
      const looking = await open(reader, { readOnly: true });
      expect(await looking.processes.get(pid)).toMatchObject({ name: 'seen' });
      expect((await refusal(looking.processes.spawn({}))).code).toBe('STORE_READONLY');
      await looking.shutdown();
      expect((await refusal(open(reader))).code).toBe('STORE_READONLY');
    } finally {
      await rawSql(store, `DROP OWNED BY ${role}`);
      await rawSql(store, `DROP ROLE ${role}`);
    }
  });
});
