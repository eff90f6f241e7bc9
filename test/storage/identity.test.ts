import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createKernel } from '../../src/index.js';
import { openKernel, refusal, tempFolder } from '../support/kernel.js';
import { execute, hashFiles } from '../support/storage/files.js';
import { findInconsistencies } from '../support/store-consistency.js';

describe('a file that is to become a database', () => {
  it('is created when it is missing', async () => {
    const store = join(tempFolder(), 'new.db');
    const kernel = await openKernel({ store });
    await kernel.processes.spawn({});
    expect(await findInconsistencies(kernel)).toEqual([]);
    expect(readFileSync(store).toString('latin1', 68, 72)).toBe('PROC');
  });

  it('may exist and be empty', async () => {
    const store = join(tempFolder(), 'empty.db');
    writeFileSync(store, '');
    const kernel = await openKernel({ store });
    expect(await kernel.processes.spawn({})).toMatch(/^p_/);
  });

  it('may be a database without any table', async () => {
    const store = join(tempFolder(), 'bare.db');
    execute(store, 'CREATE TABLE t (a)', 'DROP TABLE t', 'VACUUM');
    const kernel = await openKernel({ store });
    expect(await kernel.processes.spawn({})).toMatch(/^p_/);
  });

  it('may be named by a symbolic link whose target is missing', async () => {
    const folder = tempFolder();
    symlinkSync(join(folder, 'target.db'), join(folder, 'link.db'));
    const kernel = await openKernel({ store: join(folder, 'link.db') });
    await kernel.processes.spawn({});
    expect(readFileSync(join(folder, 'target.db')).length).toBeGreaterThan(0);
  });

  it('is opened again with everything in it', async () => {
    const store = join(tempFolder(), 'again.db');
    const first = await createKernel({ logger: 'silent', store });
    const pid = await first.processes.spawn({ name: 'kept' });
    await first.shutdown();
    const second = await openKernel({ store });
    expect(await second.processes.get(pid)).toMatchObject({ pid, name: 'kept' });
    expect(await findInconsistencies(second)).toEqual([]);
  });

  it('is created once when two kernels of one program open it at the same time', async () => {
    const store = join(tempFolder(), 'both.db');
    const kernels = await Promise.all([openKernel({ store }), openKernel({ store }), openKernel({ store })]);
    const pids = await Promise.all(kernels.map((kernel) => kernel.processes.spawn({})));
    for (const kernel of kernels)
      expect((await kernel.processes.list()).items.map(({ pid }) => pid).sort()).toEqual(pids.sort());
    for (const kernel of kernels) expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

describe('a file of somebody else is refused and stays as it was', () => {
  const refusedAs = async (folder: string, name: string, code: string) => {
    const before = hashFiles(folder);
    for (const readOnly of [false, true]) {
      const call = createKernel({ logger: 'silent', store: `sqlite:${join(folder, name)}`, readOnly });
      expect(await refusal(call)).toMatchObject({ code });
      expect(hashFiles(folder)).toEqual(before);
    }
  };

  it('when it holds random bytes', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'a.db'), randomBytes(20_000));
    writeFileSync(join(folder, 'short.db'), randomBytes(7));
    await refusedAs(folder, 'a.db', 'STORE_FOREIGN');
    await refusedAs(folder, 'short.db', 'STORE_FOREIGN');
  });

  it('when it is a text', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'notes.txt'), 'SQLite format 3 is what this note is about.\n'.repeat(10));
    await refusedAs(folder, 'notes.txt', 'STORE_FOREIGN');
  });

  it('when it is the database of another program', async () => {
    const folder = tempFolder();
    execute(join(folder, 'a.db'), 'CREATE TABLE notes (text)', "INSERT INTO notes VALUES ('mine')");
    await refusedAs(folder, 'a.db', 'STORE_FOREIGN');
  });

  it('when it is the database of another program in WAL mode', async () => {
    const folder = tempFolder();
    execute(join(folder, 'a.db'), 'PRAGMA journal_mode = WAL', 'CREATE TABLE notes (text)');
    await refusedAs(folder, 'a.db', 'STORE_FOREIGN');
  });

  it('when it is a database of another program whose tables are still in its write-ahead log', async () => {
    const folder = tempFolder();
    const raw = new Database(join(folder, 'live.db'));
    onTestFinished(() => void raw.close());
    for (const statement of [
      'PRAGMA journal_mode = WAL',
      'CREATE TABLE notes (text)',
      "INSERT INTO notes VALUES ('mine')",
    ]) {
      raw.exec(statement);
    }
    const crashed = tempFolder();
    copyFileSync(join(folder, 'live.db'), join(crashed, 'a.db'));
    copyFileSync(join(folder, 'live.db-wal'), join(crashed, 'a.db-wal'));
    await refusedAs(crashed, 'a.db', 'STORE_FOREIGN');
  });

  it('when another program has only marked it as its own', async () => {
    const folder = tempFolder();
    execute(join(folder, 'a.db'), 'PRAGMA application_id = 7');
    await refusedAs(folder, 'a.db', 'STORE_FOREIGN');
  });

  it('when it is an SQLite header with nothing behind it', async () => {
    const folder = tempFolder();
    execute(join(folder, 'a.db'), 'CREATE TABLE notes (text)');
    truncateSync(join(folder, 'a.db'), 60);
    await refusedAs(folder, 'a.db', 'STORE_FOREIGN');
  });

  it('when its name differs from that of a foreign database only by blanks at the end', async () => {
    const folder = tempFolder();
    execute(join(folder, 'a.db'), 'CREATE TABLE notes (text)');
    await refusedAs(folder, 'a.db ', 'STORE_IO');
  });

  it('when it was written by a newer release', async () => {
    const folder = tempFolder();
    await (await createKernel({ logger: 'silent', store: join(folder, 'a.db') })).shutdown();
    execute(join(folder, 'a.db'), 'PRAGMA user_version = 1000');
    await refusedAs(folder, 'a.db', 'SCHEMA_NEWER');
  });

  it('when it is a folder, a pipe, or lies in a folder that is not there', async () => {
    const folder = tempFolder();
    mkdirSync(join(folder, 'folder.db'));
    await refusedAs(folder, 'folder.db', 'STORE_FOREIGN');
    await refusedAs(folder, join('missing', 'a.db'), 'STORE_IO');
    writeFileSync(join(folder, 'file'), 'x');
    await refusedAs(folder, join('file', 'a.db'), 'STORE_IO');
    execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', join(folder, 'pipe.db')]);
    await refusedAs(folder, 'pipe.db', 'STORE_FOREIGN');
  });

  it('when it is missing and only to be read', async () => {
    const folder = tempFolder();
    expect(
      await refusal(createKernel({ logger: 'silent', store: join(folder, 'a.db'), readOnly: true })),
    ).toMatchObject({
      code: 'STORE_IO',
    });
    expect(hashFiles(folder)).toEqual({});
  });

  it('when its name holds a NUL', async () => {
    const folder = tempFolder();
    const store = `${join(folder, 'a.db')}\0.db`;
    expect((await refusal(createKernel({ logger: 'silent', store }))).code).toMatch(
      /^(STORE_IO|INVALID_INPUT|INVALID_PATH)$/,
    );
    expect(hashFiles(folder)).toEqual({});
  });
});

describe('a database that is being created', () => {
  it('is created again when the schema was written in part and rolled back', async () => {
    const store = join(tempFolder(), 'half.db');
    const raw = new Database(store);
    raw.exec('BEGIN; CREATE TABLE processes (n); ROLLBACK');
    raw.close();
    const kernel = await openKernel({ store });
    expect(await kernel.processes.spawn({})).toMatch(/^p_/);
  });

  it('is refused when another program fills it between identification and migration', async () => {
    const folder = tempFolder();
    const store = join(folder, 'race.db');
    writeFileSync(store, '');
    const other = new Database(store);
    onTestFinished(() => void other.close());
    other.exec('BEGIN IMMEDIATE; CREATE TABLE notes (text)');
    const opened = createKernel({ logger: 'silent', store });
    opened.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
    other.exec('COMMIT');
    expect(await refusal(opened)).toMatchObject({ code: 'STORE_FOREIGN' });
    expect(other.prepare('SELECT name FROM sqlite_master').pluck().all()).toEqual(['notes']);
    expect(other.pragma('journal_mode', { simple: true })).toBe('delete');
  });
});
