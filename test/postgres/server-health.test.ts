import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createKernel } from '../../src/index.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';
import { connectPlain } from '../support/postgres-databases.js';
import { startPostgres } from '../support/postgres-server.js';
import { addressOf } from '../support/postgres-template.js';
import { rawSql } from '../support/storage/raw-sql.js';
import { findInconsistencies } from '../support/store-consistency.js';

const hourMs = 3_600_000;

describe('the time of a kernel', () => {
  it.each([
    ['ahead', hourMs],
    ['behind', -hourMs],
  ])('is that of the server, also where the clock of its machine is an hour %s', async (_, offMs) => {
    const store = await newStore();
    const serverTime = async () => {
      const [row] = await rawSql<{ at: number }>(store, 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS at');
      return Number(row?.at);
    };
    const right = Date.now;
    const before = await serverTime();
    const machine = vi.spyOn(Date, 'now').mockImplementation(() => right() + offMs);
    onTestFinished(() => machine.mockRestore());
    const kernel = await openKernel({ store, node: { leaseMs: 60_000 } });
    const pid = await kernel.processes.spawn({ deadlineMs: hourMs });
    await kernel.processes.exit(pid);
    const record = await kernel.processes.get(pid);
    const { items } = await kernel.audit.list();
    machine.mockRestore();
    const other = await openKernel({ store, node: { executor: false } });
    const later = await other.processes.spawn({});
    const after = await serverTime();
    const times = [
      ...items.map(({ at }) => at),
      record.createdAt,
      record.exitedAt,
      Number(record.deadlineAt) - hourMs,
      (await other.processes.get(later)).createdAt,
    ];
    for (const at of times) {
      expect(at).toBeGreaterThanOrEqual(Math.floor(before));
      expect(at).toBeLessThanOrEqual(Math.ceil(after));
    }
  });
});

describe('dead rows of head', () => {
  const warningsOf = async (store: string) => {
    const warnings: object[] = [];
    const logger = { warn: (facts: object) => void warnings.push(facts), error: () => undefined };
    const kernel = await createKernel({ store, logger, workspace: tempFolder(), node: { executor: false } });
    await kernel.shutdown();
    return warnings.filter((facts) => 'deadRows' in facts);
  };

  it('in large numbers are told when a kernel is opened, and a few are not', async () => {
    const store = await newStore();
    expect(await warningsOf(store)).toEqual([]);
    await rawSql(store, 'ALTER TABLE head SET (autovacuum_enabled = off)');
    const client = await connectPlain(store);
    try {
      // Rows that were taken back are dead rows.
      await client.query(
        `BEGIN; INSERT INTO procura.head ("only", "schema", "no", "writer", "at", "facts")
           SELECT n, 1, 0, '', 0, '{}' FROM generate_series(2, 10100) AS n; ROLLBACK`,
      );
      // A connection tells what it has done when it ends, at the latest.
      await client.end();
      const deadRows = "SELECT n_dead_tup AS dead FROM pg_stat_user_tables WHERE relname = 'head'";
      await expect.poll(async () => Number((await rawSql(store, deadRows))[0]?.dead)).toBeGreaterThan(10_000);
      expect(await warningsOf(store)).toEqual([{ table: 'head', deadRows: expect.any(Number) }]);
    } finally {
      await rawSql(store, 'ALTER TABLE head RESET (autovacuum_enabled)');
      await rawSql(store, 'VACUUM head');
    }
  });
});

/** A file system of a few megabytes that the server may write to; undefined where none can be mounted. */
async function mountSmall(dataFolder: string): Promise<{ readonly folder: string; grow(): void } | undefined> {
  const folder = join(tempFolder(), 'small');
  mkdirSync(folder);
  const run = (...args: string[]) => execFileSync(args[0] ?? '', args.slice(1), { stdio: 'ignore' });
  try {
    run('mount', '-t', 'tmpfs', '-o', 'size=24m,mode=0700', 'tmpfs', folder);
  } catch {
    return undefined;
  }
  onTestFinished(() => void run('umount', '-l', folder));
  const { uid, gid } = statSync(dataFolder);
  chownSync(folder, uid, gid);
  execFileSync('chmod', ['a+x', join(folder, '..')]);
  return { folder, grow: () => void run('mount', '-o', 'remount,size=128m', folder) };
}

describe('a disk that is full', () => {
  it('is STORE_FULL for what needs room, and keeps nothing of it; work goes on when there is room', async ({
    skip,
  }) => {
    // Of its own: a checkpoint of a server fails while one of its disks is full, and with it the databases that others make.
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    const admin = await connectPlain(server.url);
    const [{ data = '' } = {}] = (
      await admin.query<{ data: string }>("SELECT current_setting('data_directory') AS data")
    ).rows;
    const disk = await mountSmall(data);
    if (disk === undefined) return skip('needs the right to mount a file system');
    await admin.query(`CREATE TABLESPACE small LOCATION '${disk.folder}'`);
    await admin.query('CREATE DATABASE small TABLESPACE small');
    try {
      const store = addressOf(server.url, 'small');
      const kernel = await createKernel({
        store,
        logger: 'silent',
        workspace: tempFolder(),
        node: { executor: false },
      });
      const kept: string[] = [];
      // Texts that do not get shorter when the server compresses them.
      const text = () => randomBytes(700_000).toString('base64');
      let outcome: unknown;
      for (let n = 0; n < 200 && outcome === undefined; n++) {
        const spawned = kernel.processes.spawn({ id: `p${n}`, args: { text: text() } });
        outcome = await spawned.then(
          (pid) => void kept.push(pid),
          (error: unknown) => error,
        );
      }
      expect(outcome).toMatchObject({ code: 'STORE_FULL', retryable: true, facts: { sqlstate: '53100' } });
      const pids = async () => (await kernel.processes.list({ limit: 1_000 })).items.map(({ pid }) => pid).sort();
      expect(await pids()).toEqual(kept.sort());
      disk.grow();
      kept.push(await kernel.processes.spawn({ args: { text: text() } }));
      expect(await pids()).toEqual(kept.sort());
      expect(await findInconsistencies(kernel)).toEqual([]);
      await kernel.shutdown();
    } finally {
      await admin.end();
    }
  });
});

it('a server that accepts no more connections is STORE_UNAVAILABLE', async () => {
  const store = await newStore();
  const role = `limited_${process.pid}`;
  await rawSql(store, `CREATE ROLE ${role} LOGIN PASSWORD 'r' CONNECTION LIMIT 0`);
  try {
    const url = new URL(store);
    url.username = role;
    url.password = 'r';
    expect((await refusal(createKernel({ store: url.href, logger: 'silent' }))).code).toBe('STORE_UNAVAILABLE');
  } finally {
    await rawSql(store, `DROP ROLE ${role}`);
  }
});
