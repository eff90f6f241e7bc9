import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createKernel, type KernelOptions } from '../../src/index.js';
import { newStore, tempFolder } from '../support/kernel.js';
import { startProxy } from '../support/pg-proxy.js';
import { rawSql } from '../support/storage/raw-sql.js';

/** A password with characters that an address has percent-encoded. */
const password = 'hunter2/s€cret?&';
const spellings = [password, encodeURIComponent(password), 'hunter2', Buffer.from(password).toString('base64')];

const addresses: readonly [name: string, change: (url: URL, user: string) => void][] = [
  [
    'before the host',
    (url, user) => {
      url.username = user;
      url.password = encodeURIComponent(password);
    },
  ],
  [
    'as a parameter',
    (url, user) => {
      url.username = '';
      url.password = '';
      url.searchParams.set('user', user);
      url.searchParams.set('password', password);
    },
  ],
];

function addressWith(store: string, change: (url: URL) => void): string {
  const url = new URL(store);
  change(url);
  return url.href;
}

/** Everything that an error shows: its message, facts, hint, stack and causes, and what a console prints of it. */
function everythingOf(error: unknown): string {
  return [inspect(error, { depth: 20, showHidden: true }), JSON.stringify(error), String((error as Error).stack)].join(
    '\n',
  );
}

function expectNoPassword(text: string): void {
  for (const spelling of spellings) expect(text).not.toContain(spelling);
}

async function withRole(store: string, work: (role: string) => Promise<void>): Promise<void> {
  const role = `keeper_${process.pid}`;
  await rawSql(store, `CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD '${password}'`);
  try {
    await work(role);
  } finally {
    await rawSql(store, `DROP ROLE ${role}`);
  }
}

describe.each(addresses)('a password that stands %s', (_, change) => {
  const failures: readonly [
    name: string,
    code: string,
    spoil: (url: URL, user: string) => void,
    options?: KernelOptions,
  ][] = [
    ['is wrong', 'STORE_IO', (url, user) => change(url, `${user}_unknown`)],
    [
      'opens a database that is not there',
      'STORE_IO',
      (url, user) => {
        change(url, user);
        url.pathname = '/no_such_database';
      },
    ],
    [
      'is for a server that is not there',
      'STORE_UNAVAILABLE',
      (url, user) => {
        change(url, user);
        url.port = '9';
      },
    ],
    [
      'is for a host that is not there',
      'STORE_UNAVAILABLE',
      (url, user) => {
        change(url, user);
        url.hostname = 'no-such-host.invalid';
      },
    ],
    [
      'is for a server without TLS',
      'STORE_IO',
      (url, user) => {
        change(url, user);
        url.searchParams.set('sslmode', 'verify-full');
      },
    ],
    [
      'comes with a certificate that is not there',
      'STORE_UNAVAILABLE',
      (url, user) => {
        change(url, user);
        url.searchParams.set('sslrootcert', '/no/such/file');
      },
    ],
    [
      'opens a schema without tables for reading',
      'STORE_IO',
      (url, user) => {
        change(url, user);
        url.searchParams.set('schema', 'nothing_here');
      },
      { readOnly: true },
    ],
    [
      'comes with another address to listen at that is none',
      'INVALID_INPUT',
      (url, user) => {
        change(url, user);
        url.searchParams.set('listen', `mysql://u:${encodeURIComponent(password)}@h/d`);
      },
    ],
  ];

  it('is in no error of an opening that fails', async () => {
    const store = await newStore();
    await withRole(store, async (role) => {
      for (const [name, code, spoil, options] of failures) {
        const address = addressWith(store, (url) => spoil(url, role));
        const error = await createKernel({ store: address, logger: 'silent', ...options }).catch(
          (thrown: unknown) => thrown,
        );
        expect({ name, error }).toMatchObject({ name, error: { code, hint: expect.stringMatching(/./) } });
        expectNoPassword(everythingOf(error));
      }
    });
  });

  it('is in no error, log, event or record of a kernel that works with it', async () => {
    const store = await newStore();
    await withRole(store, async (role) => {
      const proxy = await startProxy(addressWith(store, (url) => change(url, role)));
      const logged: string[] = [];
      const log = (facts: object, message: string) => void logged.push(`${inspect(facts, { depth: 20 })} ${message}`);
      const kernel = await createKernel({
        store: proxy.store,
        logger: { warn: log, error: log },
        workspace: tempFolder(),
        node: { executor: false, pollMs: 20 },
      });
      const errors: unknown[] = [];
      const tell = (error: unknown) => void errors.push(error);
      const pid = await kernel.processes.spawn({});
      proxy.stop();
      await Promise.all([kernel.processes.spawn({}).catch(tell), kernel.processes.get(pid).catch(tell)]);
      proxy.resume();
      await kernel.processes.exit(pid);
      expect(errors).toHaveLength(2);
      for (const error of errors) expectNoPassword(everythingOf(error));
      const events = await kernel.events.list({ limit: 1_000 });
      const records = await kernel.audit.list({ limit: 1_000 });
      expect(events.items.length + records.items.length).toBeGreaterThan(4);
      expectNoPassword(JSON.stringify([events, records]));
      for await (const line of kernel.audit.export()) expectNoPassword(line);
      expectNoPassword(inspect(kernel, { depth: 3 }));
      await kernel.shutdown();
      expect(logged.join('\n')).toContain('notifications of other nodes are lost');
      expectNoPassword(logged.join('\n'));
      for (const table of ['head', 'nodes', 'settings', 'events', 'audit_records', 'audit_payloads', 'writers']) {
        expectNoPassword(JSON.stringify(await rawSql(store, `SELECT * FROM ${table}`)));
      }
    });
  });
});
