import { fileURLToPath } from 'node:url';
import type Database from 'better-sqlite3';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { StoreError } from '../../base/errors.js';
import { applicationId } from './identity.js';

const folder = fileURLToPath(new URL('../../../migrations/sqlite', import.meta.url));

/** The number of the newest schema that this release knows. */
export function schemaNumber(): number {
  return readMigrationFiles({ migrationsFolder: folder }).length;
}

/** Refuses a database that a newer release has written. */
export function assertNotNewer(raw: Database.Database, known: number): number {
  const found = raw.pragma('user_version', { simple: true }) as number;
  if (found <= known) return found;
  throw new StoreError('SCHEMA_NEWER', `The database has schema ${found}; this release knows up to ${known}.`, {
    facts: { found, known },
    hint: 'Use a newer release of procura for this file.',
  });
}

/** Brings the schema up to date in one transaction: all of it or none, also with another program doing the same. */
export function migrate(raw: Database.Database): void {
  const migrations = readMigrationFiles({ migrationsFolder: folder });
  if (assertNotNewer(raw, migrations.length) === migrations.length) return;
  raw
    .transaction(() => {
      const from = assertNotNewer(raw, migrations.length);
      for (const migration of migrations.slice(from)) for (const statement of migration.sql) raw.exec(statement);
      raw.pragma(`application_id = ${applicationId}`);
      raw.pragma(`user_version = ${migrations.length}`);
    })
    .immediate();
}
