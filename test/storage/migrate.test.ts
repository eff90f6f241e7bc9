import { join } from 'node:path';
import Database from 'better-sqlite3';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { describe, expect, it, onTestFinished } from 'vitest';
import { applicationId } from '../../src/storage/sqlite/identity.js';
import { migrate, schemaNumber } from '../../src/storage/sqlite/migrate.js';
import { migrations } from '../../src/storage/sqlite/migrations.js';
import { repository } from '../support/built-package.js';
import { tempFolder } from '../support/kernel.js';

describe('migrate', () => {
  it('creates all of the schema or none of it', () => {
    const raw = open();
    raw.pragma('max_page_count = 12');
    expect(() => migrate(raw)).toThrow(expect.objectContaining({ code: 'SQLITE_FULL' }));
    expect(stateOf(raw)).toEqual({ tables: 0, schema: 0, owner: 0, inTransaction: false });
    raw.pragma('max_page_count = 100000');
    migrate(raw);
    expect(stateOf(raw)).toMatchObject({ schema: schemaNumber, owner: applicationId });
  });

  it('changes nothing when there is nothing to do', () => {
    const raw = open();
    migrate(raw);
    const before = raw.serialize();
    migrate(raw);
    expect(raw.serialize().equals(before)).toBe(true);
  });

  it('waits for another connection that is doing the same, and finds it done', () => {
    const path = join(tempFolder(), 'a.db');
    const [first, second] = [open(path), open(path)];
    first.exec('BEGIN IMMEDIATE');
    expect(() => migrate(second)).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }));
    first.exec('ROLLBACK');
    migrate(first);
    migrate(second);
    expect(stateOf(second)).toMatchObject({ schema: schemaNumber, owner: applicationId });
  });

  it('has in the code what drizzle-kit has written into the folder of migrations', () => {
    const files = readMigrationFiles({ migrationsFolder: join(repository, 'migrations/sqlite') });
    expect(schemaNumber).toBe(files.length);
    const statements = migrations.map(({ sql }) => sql.split('--> statement-breakpoint'));
    expect(statements).toEqual(files.map(({ sql }) => sql));
  });
});

function open(path = join(tempFolder(), 'a.db')): Database.Database {
  const raw = new Database(path, { timeout: 0 });
  onTestFinished(() => void raw.close());
  return raw;
}

function stateOf(raw: Database.Database) {
  return {
    tables: raw.prepare('SELECT count(*) FROM sqlite_master').pluck().get(),
    schema: raw.pragma('user_version', { simple: true }),
    owner: raw.pragma('application_id', { simple: true }),
    inTransaction: raw.inTransaction,
  };
}
