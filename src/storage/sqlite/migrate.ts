import type Database from 'better-sqlite3';
import { StoreError } from '../../base/errors.js';
import { applicationId, assertOursOrVacant } from './identity.js';
import { migrations } from './migrations.js';
import { allowReleasingPages, isEmptyFile } from './release-pages.js';

/** The number of the newest schema that this release knows. */
export const schemaNumber = migrations.length;

/** Throws SCHEMA_NEWER for a database that a newer release has written. */
export function assertNotNewer(found: number, known: number): void {
  if (found <= known) return;
  throw new StoreError('SCHEMA_NEWER', `The database has schema ${found}; this release knows up to ${known}.`, {
    facts: { found, known },
    hint: 'Use a newer release of procura for this file.',
  });
}

/** The number of the schema of the database, 0 when it has none. */
export function schemaOf(raw: Database.Database): number {
  return raw.pragma('user_version', { simple: true }) as number;
}

/** Brings the schema up to date in one transaction, also while another program does the same. */
export function migrate(raw: Database.Database): void {
  const isOurs = raw.pragma('application_id', { simple: true }) === applicationId;
  if (isOurs && schemaOf(raw) === schemaNumber) return;
  const bringUpToDate = raw.transaction(() => {
    allowReleasingPages(raw);
    assertOursOrVacant(raw);
    const from = schemaOf(raw);
    assertNotNewer(from, schemaNumber);
    for (const { sql } of migrations.slice(from)) raw.exec(sql);
    raw.pragma(`application_id = ${applicationId}`);
    raw.pragma(`user_version = ${schemaNumber}`);
  });
  // An immediate transaction makes a database of an empty file, in which the mode of its free pages is settled.
  if (isEmptyFile(raw)) bringUpToDate.deferred();
  else bringUpToDate.immediate();
}
