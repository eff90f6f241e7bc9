import { join } from 'node:path';
import { getTableName, is } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { expect, it } from 'vitest';
import { createKernel, defineImage, type Kernel } from '../../src/index.js';
import * as postgresSchema from '../../src/storage/postgres/schema.js';
import * as sqliteSchema from '../../src/storage/schema/tables.js';
import { newStore, tempFolder } from '../support/kernel.js';
import { rawSql } from '../support/storage/raw-sql.js';

const worker = defineImage({ name: 'worker', run: async () => null });

/** Uses most of the kernel: spawns, forks, budgets, capabilities, rules, memory, messages, signals, refusals, ends. */
async function runScript(kernel: Kernel): Promise<void> {
  const root = await kernel.processes.spawn({
    goal: 'plan',
    budget: { tokens: 100, children: 9 },
    labels: { team: 'a' },
  });
  const a = await kernel.processes.spawnChild(root, { image: 'worker', goal: { a: 1 }, id: 'first' });
  const note = await kernel.memory.create(a, {
    type: 'artifact',
    name: 'findings',
    immutable: false,
    payload: { text: 'x'.repeat(2_000) },
  });
  await kernel.memory.update(a, note, { text: 'shorter' });
  const b = await kernel.processes.fork(root, { id: 'b', mode: 'copy' });
  await kernel.processes.charge(a, { tokens: 7 });
  await kernel.processes.charge(a, { tokens: 1_000 }).catch(() => undefined);
  await kernel.processes.settle(await kernel.processes.reserve(b, { tokens: 5 }), { tokens: 3 });
  const held = await kernel.capabilities.grant(root, { resource: 'tool:search', rights: ['call'], delegable: true });
  await kernel.capabilities
    .delegate(root, a, { from: held.id, resource: 'tool:search', rights: ['call'] })
    .catch(() => undefined);
  await kernel.capabilities.deny('*', { resource: 'tool:rm', rights: ['call'] }).catch(() => undefined);
  await kernel.processes.send(a, { hello: 'wörld \u0001' });
  await kernel.processes.signal(a, 'user.tick', { payload: { n: 1 } });
  await kernel.processes.pause(a, 'lunch');
  await kernel.capabilities.revoke(held.id);
  await kernel.processes.complete(b, { found: [1, 2, 3] });
  await kernel.processes.wait(root, b);
  await kernel.processes.cancel(root, 'enough');
}

async function runOn(store: string): Promise<{ root: string; size: number }> {
  await using kernel = await createKernel({
    store,
    seed: 'both',
    logger: 'silent',
    workspace: tempFolder(),
    node: { executor: false },
    images: [worker],
  });
  await runScript(kernel);
  const { root, size, ok } = await kernel.audit.verify();
  expect(ok).toBe(true);
  return { root, size };
}

const tables = Object.values(sqliteSchema).filter((value) => is(value, SQLiteTable)) as SQLiteTable[];

it('the same seeded script gives the same audit root and the same rows on both stores', async () => {
  const stores = [join(tempFolder(), 'test.db'), await newStore()] as const;
  const [onSqlite, onPostgres] = [await runOn(stores[0]), await runOn(stores[1])];
  expect(onPostgres).toEqual(onSqlite);
  expect(onSqlite.size).toBeGreaterThan(20);
  for (const name of tables.map(getTableName)) {
    const [left, right] = await Promise.all(stores.map((store) => rowsOf(store, name)));
    expect(right, name).toEqual(left);
  }
});

it('every table of SQLite is one of PostgreSQL', () => {
  const known = new Set(Object.keys(postgresSchema));
  const missing = Object.entries(sqliteSchema).filter(([name, value]) => is(value, SQLiteTable) && !known.has(name));
  expect(missing.map(([name]) => name)).toEqual([]);
});

/** The rows of a table in no order of the engine's. Row numbers that only PostgreSQL has are left out. */
async function rowsOf(store: string, name: string): Promise<string[]> {
  const rows = await rawSql<Record<string, unknown>>(store, `SELECT * FROM ${name}`);
  return rows.map(({ rowid: _rowid, ...row }) => JSON.stringify(Object.entries(row).sort())).sort();
}
