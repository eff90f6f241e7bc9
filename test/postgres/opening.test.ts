import { describe, expect, it } from 'vitest';
import { createKernel } from '../../src/index.js';
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
  it('with a wrong password is refused without a password in the message', async () => {
    const store = addressWith(await newStore(), (url) => {
      url.username = 'nobody_of_this_name';
      url.password = 'hunter2secret';
    });
    const error = await open(store).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'STORE_IO' });
    expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain('hunter2secret');
  });

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

  it('of a newer release is SCHEMA_NEWER, also for a kernel that is open', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    await rawSql(store, 'UPDATE head SET schema = schema + 1');
    try {
      expect((await refusal(open(store))).code).toBe('SCHEMA_NEWER');
      expect((await refusal(kernel.processes.spawn({}))).code).toBe('SCHEMA_NEWER');
    } finally {
      await rawSql(store, 'UPDATE head SET schema = schema - 1');
    }
    expect(await kernel.processes.list()).toMatchObject({ items: [] });
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

it('a NUL in text is refused to the caller who gave it, and to nobody beside', async () => {
  const kernel = await openKernel({ node: { executor: false } });
  const calls = await Promise.allSettled([
    kernel.processes.spawn({ name: 'before' }),
    kernel.processes.spawn({ name: 'a\u0000b' }),
    kernel.processes.spawn({ name: 'after' }),
  ]);
  expect(calls.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(calls[1]).toMatchObject({ reason: { code: 'INVALID_INPUT' } });
});
