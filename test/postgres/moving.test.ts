import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { createKernel, type Kernel, migrateStore } from '../../src/index.js';
import { transferTables } from '../../src/storage/transfer/transfer-tables.js';
import { refusalOf, runCli } from '../support/cli/run-cli.js';
import { eventually } from '../support/eventually.js';
import { fullStoreOptions, makeFullStore, pruneNewest } from '../support/full-store.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';
import { newSchema } from '../support/storage/new-schema.js';
import { rawSql } from '../support/storage/raw-sql.js';
import { readStore } from '../support/storage/store-contents.js';

const newFile = () => join(tempFolder(), 'moved.db');
const makers = { sqlite: async () => newFile(), postgres: () => newSchema('moved') } as const;
const bothWays = [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const;

async function move(from: string, to: string, ...options: string[]): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await runCli(['migrate', '--from', from, '--to', to, '--json', ...options]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

async function codeOfMove(from: string, to: string, ...options: string[]): Promise<string> {
  return refusalOf(await runCli(['migrate', '--from', from, '--to', to, ...options])).code;
}

const idle = { node: { executor: false } } as const;

/** A store of a kind that a kernel has been opened on, and shut down. */
async function smallStore(kind: keyof typeof makers, work: (kernel: Kernel, store: string) => Promise<unknown>) {
  const store = kind === 'sqlite' ? newFile() : await newStore();
  const kernel = await openKernel({ store, ...idle });
  await work(kernel, store);
  await kernel.shutdown();
  return store;
}

/** All rows of all tables, in an order that is the same in every store. */
async function contentsOf(store: string): Promise<Record<string, string[]>> {
  const contents: Record<string, string[]> = {};
  for (const { name, columns } of transferTables) {
    const list = columns.map((column) => `"${column}"`).join(', ');
    const rows = await rawSql<Record<string, unknown>>(store, `SELECT ${list} FROM ${name}`);
    contents[name] = rows.map((row) => JSON.stringify(row)).sort();
  }
  return contents;
}

describe('a store with rows in every table', () => {
  it('is the same after each move, from every kind of store to every kind', async () => {
    const { store } = await makeFullStore();
    const before = await contentsOf(store);
    for (const [name, rows] of Object.entries(before)) expect(rows, name).not.toEqual([]);
    const stores = [store, newFile(), await newSchema('first'), await newSchema('second'), newFile()] as const;
    const reports: Record<string, unknown>[] = [];
    for (const [at, to] of stores.slice(1).entries()) {
      reports.push(await move(stores[at] ?? '', to));
      expect(await contentsOf(to), to).toEqual(before);
      const { stdout } = await runCli(['verify', '--store', to]);
      expect(stdout).toContain(`records checked, root ${reports[0]?.root}`);
    }
    expect(new Set(reports.map((report) => JSON.stringify({ ...report, state: '' }))).size).toBe(1);
    expect(await contentsOf(store)).toEqual(before);
  });

  it.each(['sqlite', 'postgres'] as const)('goes on on %s where it was', async (kind) => {
    const { store, waiting, interrupted, unclaimed } = await makeFullStore();
    const to = await makers[kind]();
    await move(store, to);
    const { node } = fullStoreOptions;
    const kernel = await openKernel({
      ...fullStoreOptions,
      store: to,
      node: { ...node, queues: ['default', 'nobody'] },
    });
    const { processes } = kernel;
    expect(await processes.result(interrupted)).toMatchObject({ status: 'exited', value: ['kept', 'again'] });
    expect(await processes.result(unclaimed)).toMatchObject({ status: 'exited' });
    await processes.send(waiting, 'go on');
    expect(await processes.result(waiting)).toMatchObject({ value: { first: 1, body: 'go on' } });
    const [question] = await kernel.questions.list();
    await kernel.questions.answer(question?.id ?? '', { answer: 'green', by: 'ann' });
    expect(await processes.result(question?.pid ?? '')).toMatchObject({ value: 'green' });
    const lead = await processes.spawn({
      image: 'outside',
      name: 'lead',
      id: 'lead',
      budget: { tokens: 1_000, children: 50 },
    });
    expect((await processes.budget(lead)).tokens).toMatchObject({ used: 7, reserved: 5, limit: 1_000 });
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
    const [{ newest, count } = {}] = await rawSql(to, 'SELECT max(seq) AS newest, count(*) AS count FROM events');
    expect(count).toBe(newest);
  });
});

describe('numbers', () => {
  it.each(bothWays)('that were given to pruned processes are not given again, from %s to %s', async (from, to) => {
    let highest = 0;
    const store = await smallStore(from, async (kernel, address) => {
      await kernel.processes.spawn();
      highest = await pruneNewest(kernel, address);
    });
    const moved = await makers[to]();
    await move(store, moved);
    const kernel = await openKernel({ store: moved, ...idle });
    const pid = await kernel.processes.spawn();
    expect(await rawSql(moved, 'SELECT n FROM processes WHERE pid = ?', pid)).toEqual([{ n: highest + 1 }]);
  });

  it('and ids, times and the log go on as if the store had not been moved', async () => {
    const runs = [];
    for (const isMoved of [false, true]) {
      let store = newFile();
      const state = tempFolder();
      const options = { seed: 'moved', state, logger: 'silent', workspace: tempFolder(), ...idle } as const;
      const first = await createKernel({ store, ...options });
      const root = await first.processes.spawn({ id: 'root' });
      await first.capabilities.grant(root, { resource: 'tool:search', rights: ['call'], delegable: true });
      await first.shutdown();
      if (isMoved) {
        const to = await newSchema('moved');
        await move(store, to, '--from-state', state, '--to-state', state);
        store = to;
      }
      const second = await createKernel({ store, ...options });
      const child = await second.processes.spawnChild(root, {
        delegate: [{ resource: 'tool:search', rights: ['call'] }],
      });
      await second.processes.send(child, 'hello');
      const { root: auditRoot, ok } = await second.audit.verify();
      await second.shutdown();
      runs.push({ auditRoot, ok, rows: await contentsOf(store) });
    }
    expect(runs[1]).toEqual(runs[0]);
  });
});

describe('a move is refused', () => {
  it.each(['sqlite', 'postgres'] as const)('from %s while a node lives', async (kind) => {
    const store = kind === 'sqlite' ? newFile() : await newStore();
    const kernel = await openKernel({ store });
    const to = newFile();
    expect(await refusal(migrateStore({ from: store, to }))).toMatchObject({
      code: 'CONFLICT',
      facts: { nodes: [kernel.nodeId] },
    });
    expect(existsSync(to)).toBe(false);
    await kernel.shutdown();
    await move(store, to);
  });

  it.each(bothWays)(
    'from %s to a store on %s, which stays as it is, as it does when it is the same',
    async (from, to) => {
      const store = await smallStore(from, ({ processes }) => processes.spawn());
      const other = await smallStore(to, ({ processes }) => processes.spawn());
      const before = await contentsOf(other);
      expect(await codeOfMove(store, other)).toBe('STORE_NOT_VACANT');
      expect(await codeOfMove(other, other)).toBe('STORE_NOT_VACANT');
      expect(await contentsOf(other)).toEqual(before);
    },
  );

  it('to what is of another program, which stays as it is', async () => {
    const store = await smallStore('sqlite', ({ processes }) => processes.spawn());
    const text = join(tempFolder(), 'notes.db');
    writeFileSync(text, 'not a database');
    const foreign = newFile();
    new Database(foreign).exec('CREATE TABLE theirs (id INTEGER)').close();
    const schema = await newSchema('theirs');
    await rawSql(schema, 'CREATE SCHEMA theirs');
    await rawSql(schema, 'CREATE TABLE theirs.accounts (id text)');
    const journal = newFile();
    writeFileSync(`${journal}-journal`, 'of a database that was removed');
    for (const to of [text, foreign, schema, journal]) {
      const before = to === journal ? undefined : await readStore(to);
      expect(await codeOfMove(store, to), to).toBe('STORE_FOREIGN');
      if (before !== undefined) expect((await readStore(to)).equals(before)).toBe(true);
    }
    expect(existsSync(journal)).toBe(false);
    const empty = newFile();
    writeFileSync(empty, '');
    await move(store, empty);
  });

  it('of or to what is no store at all', async () => {
    const store = await smallStore('sqlite', ({ processes }) => processes.spawn());
    const schema = await newSchema('nothing');
    expect(await codeOfMove(newFile(), schema)).toBe('NO_SUCH_STORE');
    expect(await codeOfMove(schema, newFile())).toBe('NO_SUCH_STORE');
    expect(await codeOfMove(store, ':memory:')).toBe('INVALID_INPUT');
    expect(await codeOfMove(store, join(tempFolder(), 'no-such-folder', 'moved.db'))).toBe('STORE_IO');
    expect((await refusal(migrateStore({ from: newFile(), to: schema }))).code).toBe('STORE_IO');
    expect(refusalOf(await runCli(['migrate', '--from', store])).code).toBe('USAGE');
    expect(await rawSql(schema, "SELECT 1 AS it FROM pg_namespace WHERE nspname = 'nothing'")).toEqual([]);
  });

  it('of a log that is broken', async () => {
    const store = await smallStore('sqlite', ({ processes }) => processes.spawn());
    await rawSql(store, `UPDATE audit_records SET body = replace(body, 'host', 'h0st') WHERE seq = 2 RETURNING seq`);
    const to = newFile();
    expect(await codeOfMove(store, to)).toBe('AUDIT_BROKEN');
    expect(existsSync(to)).toBe(false);
  });

  it('to PostgreSQL where a text holds what it does not store: nothing of it is there then', async () => {
    const store = await smallStore('sqlite', ({ processes }) => processes.spawn({ args: { nul: 'a\u0000b' } }));
    await move(store, await newSchema('moved'));
    const [row] = await rawSql(store, 'SELECT n FROM processes');
    await rawSql(store, `UPDATE processes SET name = ? WHERE n = ? RETURNING n`, 'a\0b', row?.n ?? 0);
    const to = await newSchema('moved');
    expect(await refusal(migrateStore({ from: store, to }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { table: 'processes', column: 'name', key: '1' },
    });
    expect(await rawSql(to, "SELECT 1 AS it FROM pg_namespace WHERE nspname = 'moved'")).toEqual([]);
    await move(store, newFile());
  });
});

describe('the state folder', () => {
  it.each(bothWays)(
    'gives checkpoints and output along, and the key where it is asked for, from %s to %s',
    async (from, to) => {
      let pid = '';
      const store = await smallStore(from, async (kernel) => {
        pid = await kernel.processes.spawn({ capabilities: [{ resource: 'command:**', rights: ['call'] }] });
        await kernel.as(pid).run({ argv: ['echo', 'hello'] });
        await kernel.audit.checkpoint();
      });
      const stated = (await move(store, newFile())).state as string;
      expect(existsSync(join(stated, 'key'))).toBe(false);
      const moved = await makers[to]();
      const folder = tempFolder();
      const report = await move(store, moved, '--with-key', '--to-state', folder);
      expect(report.state).toBe(folder);
      expect(statSync(join(folder, 'key')).mode & 0o777).toBe(0o600);
      expect(readFileSync(join(folder, 'checkpoints'))).toEqual(readFileSync(join(stated, 'checkpoints')));
      const kernel = await openKernel({ store: moved, state: folder, ...idle });
      const { items } = await kernel.processes.list({ kind: 'command' });
      expect((await kernel.processes.readOutput(items[0]?.pid ?? '')).text).toBe('hello\n');
      await kernel.processes.spawn();
      expect((await kernel.audit.checkpoint()).replaced).toBeUndefined();
      expect(await kernel.audit.verify()).toMatchObject({ ok: true });
    },
  );

  it('gets a new key otherwise, and the next checkpoint says so', async () => {
    const store = await smallStore('sqlite', ({ audit }) => audit.checkpoint());
    const to = newFile();
    await move(store, to);
    const kernel = await openKernel({ store: to, ...idle });
    expect((await kernel.audit.checkpoint()).replaced).toBe(true);
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });

  it('is refused where another store has left something in it, and where there is no key', async () => {
    const store = await smallStore('sqlite', ({ audit }) => audit.checkpoint());
    const other = await smallStore('sqlite', ({ audit }) => audit.checkpoint());
    const to = newFile();
    expect(await codeOfMove(store, to, '--to-state', `${other}.state`)).toBe('STORE_NOT_VACANT');
    expect(await codeOfMove(store, to, '--from-state', tempFolder(), '--with-key')).toBe('STORE_IO');
    const keyed = tempFolder();
    writeFileSync(join(keyed, 'key'), 'of somebody else');
    expect(await codeOfMove(store, to, '--to-state', keyed, '--with-key')).toBe('STORE_NOT_VACANT');
    expect(existsSync(to)).toBe(false);
    await move(store, to, '--to-state', keyed);
    expect(readFileSync(join(keyed, 'key'), 'utf8')).toBe('of somebody else');
  });
});

it('addresses come from the environment, too, and no password is told', async () => {
  const store = await smallStore('sqlite', ({ processes }) => processes.spawn());
  const to = await newSchema('moved');
  const password = new URL(to).password;
  const env = { PROCURA_STORE: store, PROCURA_TO: to };
  const moved = await runCli(['migrate'], env);
  expect(moved.stdout).toContain('Open only the new one from now on.');
  const again = await runCli(['migrate'], env);
  expect(refusalOf(again)).toEqual({ exitCode: 1, code: 'STORE_NOT_VACANT' });
  const denied = await runCli([
    'migrate',
    '--to',
    to.replace(`:${password}@`, ':hunter2secret@').replace('postgres:', 'nobody:'),
  ]);
  for (const { stdout, stderr } of [moved, again, denied]) {
    expect(stdout + stderr).not.toContain(`:${password}@`);
    expect(stdout + stderr).not.toContain('hunter2secret');
  }
  await eventually(async () => expect((await runCli(['ps', '--json'], { PROCURA_STORE: to })).stdout).toContain('p_'));
});
