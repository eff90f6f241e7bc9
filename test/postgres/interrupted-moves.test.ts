import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type pg from 'pg';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { migrateStore } from '../../src/index.js';
import { builtPackage } from '../support/built-package.js';
import { startCli } from '../support/cli/run-cli.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';
import { connectPlain } from '../support/postgres-databases.js';
import { newSchema } from '../support/storage/new-schema.js';
import { rawSql } from '../support/storage/raw-sql.js';

beforeAll(() => builtPackage(), 600_000);

/** A store on PostgreSQL, and a connection that keeps everybody else from reading one of its last tables. */
async function blockedStore(): Promise<{ store: string; blocker: pg.Client; unblock(): Promise<void> }> {
  const store = await newStore();
  const kernel = await openKernel({ store, node: { executor: false } });
  await kernel.processes.spawn({ name: 'moved' });
  await kernel.shutdown();
  const blocker = await connectPlain(store);
  onTestFinished(() => blocker.end());
  await blocker.query('BEGIN; LOCK TABLE procura.views IN ACCESS EXCLUSIVE MODE');
  return { store, blocker, unblock: async () => void (await blocker.query('ROLLBACK')) };
}

/** Resolves when a move is half done: it has copied most tables, and waits for one that it cannot read yet. */
async function untilHalfDone(store: string): Promise<void> {
  await eventually(async () => {
    const waiting = await rawSql(
      store,
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%views%'",
    );
    expect(waiting).toHaveLength(1);
  });
}

const draftsOf = (file: string) => readdirSync(dirname(file)).filter((name) => name.startsWith(basename(file)));

async function isVacant(store: string): Promise<boolean> {
  if (!store.startsWith('postgres')) return !existsSync(store);
  return (await rawSql(store, "SELECT 1 AS it FROM pg_namespace WHERE nspname = 'moved'")).length === 0;
}

describe('a move that is killed half way', () => {
  it.each(['sqlite', 'postgres'] as const)('leaves nothing on %s, and can be made again', async (kind) => {
    const { store, blocker, unblock } = await blockedStore();
    const to = kind === 'sqlite' ? join(tempFolder(), 'moved.db') : await newSchema('moved');
    const program = await startCli(['migrate', '--from', store, '--to', to]);
    onTestFinished(() => void program.kill('SIGKILL'));
    await untilHalfDone(store);
    // Nobody can write to the source meanwhile, and nobody sees the target.
    await expect(blocker.query('SAVEPOINT here; SELECT 1 FROM procura.head FOR UPDATE NOWAIT')).rejects.toMatchObject({
      code: '55P03',
    });
    await blocker.query('ROLLBACK TO here');
    expect(await isVacant(to)).toBe(true);
    // The address is not among what other users see of the program.
    expect(readFileSync(`/proc/${program.pid}/cmdline`, 'utf8')).toMatch(
      /^procura migrate --from postgres:\/\/… --to /,
    );
    const ended = new Promise((resolve) => program.once('exit', resolve));
    program.kill('SIGKILL');
    await ended;
    await unblock();
    expect(await isVacant(to)).toBe(true);
    if (kind === 'sqlite') expect(draftsOf(to)).not.toEqual([]);
    const { rows } = await migrateStore({ from: store, to });
    expect(rows).toBeGreaterThan(0);
    if (kind === 'sqlite') expect(draftsOf(to).filter((name) => !name.endsWith('.state'))).toEqual([basename(to)]);
    const kernel = await openKernel({ store: to, node: { executor: false } });
    expect((await kernel.processes.list()).items).toMatchObject([{ name: 'moved' }]);
  });
});

describe('a move that is given up', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('by %s leaves nothing', async (signal) => {
    const { store, unblock } = await blockedStore();
    const to = join(tempFolder(), 'moved.db');
    const program = await startCli(['migrate', '--from', store, '--to', to]);
    let stderr = '';
    program.stderr?.on('data', (chunk) => {
      stderr += String(chunk);
    });
    await untilHalfDone(store);
    program.kill(signal);
    await unblock();
    expect(await new Promise((resolve) => program.once('close', resolve))).toBe(1);
    expect(stderr).toMatch(/^error CANCELLED: /);
    expect(draftsOf(to)).toEqual([]);
  });

  it('by its signal before it begins is CANCELLED', async () => {
    const { store, unblock } = await blockedStore();
    await unblock();
    const to = await newSchema('moved');
    expect((await refusal(migrateStore({ from: store, to, signal: AbortSignal.abort() }))).code).toBe('CANCELLED');
    expect(await isVacant(to)).toBe(true);
  });
});

it('a move whose server ends the connection is refused, and leaves nothing', async () => {
  const { store, unblock } = await blockedStore();
  const to = join(tempFolder(), 'moved.db');
  const refused = refusal(migrateStore({ from: store, to }));
  await untilHalfDone(store);
  await rawSql(
    store,
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  );
  expect((await refused).code).toBe('STORE_UNAVAILABLE');
  await unblock();
  expect(draftsOf(to)).toEqual([]);
});
