import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { migrateStore } from '../../src/index.js';
import { applicationId } from '../../src/storage/sqlite/identity.js';
import { schemaNumber } from '../../src/storage/sqlite/migrate.js';
import { migrations } from '../../src/storage/sqlite/migrations.js';
import { refusalOf, runCli } from '../support/cli/run-cli.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';
import { oldLayout } from '../support/storage/old-layout.js';

const newFile = () => path.join(tempFolder(), 'moved.db');

describe('migrate', () => {
  it('moves a file to another one, with key, checkpoints and output where earlier releases kept them', async () => {
    const { store, key, command } = await oldLayout();
    const to = newFile();
    const { stdout } = await runCli(['migrate', '--store', store, '--to', to, '--with-key']);
    expect(stdout).toMatch(
      /^Moved \d+ rows, \d+ of them audit records\. The log verifies, with the same root\.\nroot {2}\w+\n/,
    );
    expect(readdirSync(path.dirname(to)).sort()).toEqual(['moved.db', 'moved.db.state']);
    expect((await runCli(['logs', command, '--store', to])).stdout).toBe('kept\n');
    const kernel = await openKernel({ store: to });
    await kernel.processes.spawn();
    expect(await kernel.audit.checkpoint()).toMatchObject({ key });
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });

  it('brings a file of an earlier release up to date, which has no log yet', async () => {
    const store = newFile();
    const raw = new Database(store);
    for (const { sql } of migrations.slice(0, 1)) raw.exec(sql);
    raw.pragma(`application_id = ${applicationId}`);
    raw.pragma('user_version = 1');
    raw.close();
    const to = newFile();
    const { stdout } = await runCli(['migrate', '--from', `sqlite:${store}`, '--to', `sqlite:${to}`, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ rows: 0, records: 0 });
    const moved = new Database(to, { readonly: true });
    expect(moved.pragma('user_version', { simple: true })).toBe(schemaNumber);
    moved.close();
  });

  it('waits for a program that writes to the file, and is refused while it goes on', async () => {
    const store = await newStore();
    await (await openKernel({ store, node: { executor: false } })).shutdown();
    const raw = new Database(store);
    raw.exec('BEGIN IMMEDIATE');
    const to = newFile();
    expect(refusalOf(await runCli(['migrate', '--from', store, '--to', to]))).toEqual({
      exitCode: 1,
      code: 'STORE_BUSY',
    });
    expect(existsSync(to)).toBe(false);
    raw.exec('ROLLBACK');
    raw.close();
    await migrateStore({ from: store, to });
  });

  it('is refused for what is no address, and for options that there are not', async () => {
    const store = await newStore();
    await (await openKernel({ store })).shutdown();
    const wrong = [
      { from: store, to: 'nowhere' },
      { from: store, to: 'mysql://user:hunter2secret@h/db' },
      { from: store, to: 'postgres://user:hunter2secret@h' },
      { from: ':memory:', to: newFile() },
      { from: store, to: newFile(), withkey: true },
      { from: store },
    ];
    for (const options of wrong) {
      const error = await migrateStore(options as never).catch((thrown: unknown) => thrown);
      expect(error, JSON.stringify(options)).toMatchObject({ code: 'INVALID_INPUT' });
      expect(JSON.stringify(error)).not.toContain('hunter2secret');
    }
    const folder = tempFolder();
    expect((await refusal(migrateStore({ from: store, to: `sqlite:${folder}` }))).code).toBe('STORE_FOREIGN');
    writeFileSync(path.join(folder, 'moved.db'), 'x'.repeat(200));
    const taken = migrateStore({ from: store, to: path.join(folder, 'moved.db') });
    expect((await refusal(taken)).code).toBe('STORE_FOREIGN');
  });
});
