import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { getTableName, is } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createKernel, defineImage, defineTool, type Kernel, type Pid } from '../../src/index.js';
import * as postgresSchema from '../../src/storage/postgres/schema.js';
import * as sqliteSchema from '../../src/storage/schema/tables.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, refusal, tempFolder } from '../support/kernel.js';
import { rawSql } from '../support/storage/raw-sql.js';

const worker = defineImage({ name: 'worker', run: async () => null });
const planner = defineImage({
  name: 'planner',
  version: '2',
  input: z.object({ depth: z.number() }),
  run: async () => null,
});

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  effect: 'pure',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  cost: () => ({ tokens: 2 }),
  run: ({ a, b }: { a: number; b: number }) => {
    if (a > 1_000) throw new Error('too large');
    return a + b;
  },
});

/** The parts of the script, one after another: each uses what those before it have made. */
async function runScript(kernel: Kernel): Promise<void> {
  const root = await kernel.processes.spawn({
    goal: 'plan',
    budget: { tokens: 100, children: 9 },
    labels: { team: 'a' },
    owner: { session: 's1' },
    capabilities: [
      { resource: 'tool:add', rights: ['call'], delegable: true, uses: 3 },
      { resource: 'tool:mail', rights: ['call'] },
    ],
  });
  const a = await kernel.processes.spawnChild(root, {
    image: 'worker',
    goal: { a: 1 },
    id: 'first',
    env: { MODE: 'x' },
  });
  const b = await kernel.processes.fork(root, { id: 'b', mode: 'copy' });
  await useBudgets(kernel, a, b);
  await useMemory(kernel, root, a);
  await useAuthority(kernel, root, a);
  await callTools(kernel, root);
  await sendMessages(kernel, root, a);
  await useLifecycle(kernel, root, a, b);
}

async function useBudgets(kernel: Kernel, a: Pid, b: Pid): Promise<void> {
  const { processes } = kernel;
  await processes.charge(a, { tokens: 7 });
  expect((await refusal(processes.charge(a, { tokens: 1_000 }))).code).toBe('BUDGET_EXCEEDED');
  await processes.settle(await processes.reserve(b, { tokens: 5 }), { tokens: 3 });
  await processes.reserve(b, { tokens: 2 });
  await processes.setBudget(a, { tokens: 50, toolCalls: 2 });
}

async function useMemory(kernel: Kernel, root: Pid, a: Pid): Promise<void> {
  const { memory, processes } = kernel;
  const note = await memory.create(a, {
    type: 'artifact',
    name: 'findings',
    immutable: false,
    tags: ['x', 'y'],
    payload: { text: 'x'.repeat(2_000) },
  });
  await memory.update(a, note, { text: 'shorter', deep: { list: [1, 2, 3] } });
  expect((await refusal(memory.read(root, note))).code).toBe('NO_SUCH_OBJECT');
  await memory.share(a, root, note, ['read']);
  const claim = await memory.create(a, { type: 'claim', payload: 'wörld \u0001', sources: [note] });
  await memory.link(a, claim, note, 'derived_from');
  const gone = await memory.create(a, { type: 'claim', payload: null });
  await memory.delete(a, gone);
  const trial = await processes.fork(a, { mode: 'speculative' });
  await memory.update(trial, note, { text: 'of the fork' });
  await memory.create(trial, { type: 'claim', payload: [true, 0.5, -1e21] });
  await processes.exit(trial, { result: 'tried' });
  await processes.wait(a, trial);
  expect((await memory.merge(a, trial, 'theirs')).merged).toHaveLength(1);
  expect((await memory.materialize(a, { tokensMax: 500 })).tokens).toBeGreaterThan(0);
  await memory.sweep();
}

async function useAuthority(kernel: Kernel, root: Pid, a: Pid): Promise<void> {
  const { capabilities } = kernel;
  const held = await capabilities.grant(root, {
    resource: 'tool:search',
    rights: ['call', 'grant'],
    grantable: ['call'],
    delegable: true,
    constraints: { query: { prefix: 'x' } },
  });
  const handed = await capabilities.delegate(root, a, { from: held.id, resource: 'tool:search', rights: ['call'] });
  await capabilities.derive(a, { from: handed.id, resource: 'tool:search', rights: ['call'], uses: 2 });
  const wider = capabilities.delegate(root, a, { from: held.id, resource: 'tool:**', rights: ['call'] });
  expect((await refusal(wider)).code).toBe('AMPLIFICATION');
  await capabilities.require(a, 'call', 'tool:search', { query: 'xy' });
  expect((await refusal(capabilities.require(a, 'call', 'tool:search', { query: 'y' }))).code).toBe(
    'CAPABILITY_DENIED',
  );
  const rule = await capabilities.deny('*', { resource: 'tool:rm', rights: ['call'], reason: 'never' });
  await capabilities.lift(rule.id, { reason: 'for once' });
  await capabilities.ask(root, { resource: 'tool:mail', rights: ['call'] });
  expect((await refusal(capabilities.require(root, 'call', 'tool:mail', { to: 'b' }))).code).toBe('APPROVAL_PENDING');
  const [asked] = await kernel.approvals.list();
  await kernel.approvals.answer(asked?.id ?? '', { decision: 'once', by: 'ada' });
  await capabilities.require(root, 'call', 'tool:mail', { to: 'b' });
  expect((await capabilities.revoke(held.id, { reason: 'done' })).count).toBe(3);
}

async function callTools(kernel: Kernel, root: Pid): Promise<void> {
  const { tools } = kernel.as(root);
  expect(await tools.call('add', { a: 1, b: 2 })).toBe(3);
  expect((await refusal(tools.call('add', { a: 'x' }))).code).toBe('INVALID_INPUT');
  expect((await refusal(tools.call('add', { a: 2_000, b: 0 }))).code).toBe('TOOL_FAILED');
  expect(await tools.call('add', { a: 2, b: 2 })).toBe(4);
  // All uses are taken.
  expect((await refusal(tools.call('add', { a: 3, b: 3 }))).code).toBe('CAPABILITY_DENIED');
}

async function sendMessages(kernel: Kernel, root: Pid, a: Pid): Promise<void> {
  await kernel.processes.send(a, { hello: 'wörld \u0001' });
  await kernel.as(root).send(a, 'second');
  expect((await kernel.as(a).receive({ from: root })).body).toBe('second');
  expect((await refusal(kernel.as(root).receive({ timeoutMs: 0 }))).code).toBe('WAIT_TIMEOUT');
  await kernel.processes.signal(a, 'user.tick', { payload: { n: 1 }, id: 'once' });
  await kernel.processes.signal(a, 'user.tick', { payload: { n: 1 }, id: 'once' });
}

async function useLifecycle(kernel: Kernel, root: Pid, a: Pid, b: Pid): Promise<void> {
  const { processes } = kernel;
  await processes.chdir(a, 'data');
  await processes.pause(a, 'lunch');
  await processes.resume(a);
  await processes.exec(a, { image: 'planner', args: { depth: 1 } });
  expect((await refusal(processes.exec(a, { image: 'planner', args: { depth: 'x' } }))).code).toBe('INVALID_INPUT');
  const below = await processes.spawnChild(a, { image: 'worker', held: true, onParentExit: 'reparent' });
  await processes.progress(b, { done: 1, total: 2, text: 'half' });
  await processes.complete(b, { found: [1, 2, 3] });
  await processes.wait(root, b);
  await processes.exit(a, { failed: true, message: 'gave up', exitCode: 3 });
  await processes.waitAny(root);
  await processes.kill(below, 'no more');
  await processes.spawnChild(root, { onParentExit: 'detach', deadlineMs: 60_000 });
  expect((await refusal(processes.spawnChild(b, {}))).code).toBe('PROCESS_TERMINATED');
  await processes.cancel(root, 'enough');
}

async function runOn(store: string): Promise<{ root: string; size: number }> {
  const workspace = tempFolder();
  mkdirSync(join(workspace, 'data'));
  await using kernel = await createKernel({
    store,
    workspace,
    seed: 'both',
    logger: 'silent',
    node: { executor: false },
    images: [worker, planner],
    tools: [add],
  });
  await runScript(kernel);
  await checkInvariants(kernel, store);
  const { root, size, ok } = await kernel.audit.verify();
  expect(ok).toBe(true);
  return { root, size };
}

const tables = Object.values(sqliteSchema).filter((value) => is(value, SQLiteTable)) as SQLiteTable[];

it('the same seeded script gives the same audit root and the same rows on both stores', async () => {
  const stores = [join(tempFolder(), 'test.db'), await newStore()] as const;
  const [onSqlite, onPostgres] = [await runOn(stores[0]), await runOn(stores[1])];
  expect(onPostgres).toEqual(onSqlite);
  expect(onSqlite.size).toBeGreaterThan(60);
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
