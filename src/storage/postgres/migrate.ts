import type { Client } from 'pg';
import { factsOf, type PostgresAddress } from '../../base/address/postgres-address.js';
import { StoreError } from '../../base/errors.js';
import { notVacant } from '../transfer/not-vacant.js';
import { migrations } from './migrations.js';

/** The number of the newest schema that this release knows. */
const schemaNumber = migrations.length;

const noTables = 'has no tables of Procura';

const serverVersionMin = 140_000;

/** Taken while a database is brought up to date, so that of several nodes one does it. */
const migrationLock = 0x70_72_6f_63;

/** Needed by the statements that both engines share. */
const functions = `
CREATE OR REPLACE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN strpos($1, $2);
CREATE OR REPLACE FUNCTION body_member(body text, name text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
  $$ BEGIN RETURN body::json ->> name; END $$;
`;

/** Rows that are changed again and again keep room beside them, and their dead versions are removed early. */
const storageParameters = `
${['processes', 'accounts', 'nodes', 'messages', 'reservations', 'run_entries']
  .map((table) => `ALTER TABLE "${table}" SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);`)
  .join('\n')}
${['head', 'writers'].map((table) => `ALTER TABLE "${table}" SET (fillfactor = 10);`).join('\n')}
`;

/** Creates the schema or brings it up to date, in one transaction. Throws STORE_FOREIGN, SCHEMA_NEWER, STORE_UNSUPPORTED. */
export async function migrate(client: Client, address: PostgresAddress): Promise<void> {
  await assertVersion(client, address);
  if ((await schemaOf(client, address)) === schemaNumber) return;
  await client.query('BEGIN');
  try {
    const from = await enterSchema(client, address);
    if (from > 0) await client.query('SELECT 1 FROM "head" WHERE "only" = 1 FOR UPDATE');
    if (from < schemaNumber) await bringUpToDate(client, from);
    await client.query('COMMIT');
  } catch (error) {
    // A connection that is lost has no transaction any more.
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/**
 * Creates the tables in the transaction that is open: until it ends nobody else knows of them, or makes others. Throws
 * STORE_NOT_VACANT, STORE_FOREIGN, STORE_UNSUPPORTED.
 */
export async function createTables(client: Client, address: PostgresAddress): Promise<void> {
  await assertVersion(client, address);
  if ((await enterSchema(client, address)) > 0) {
    throw notVacant(`the schema ${address.schema} of the database ${address.database}`, factsOf(address));
  }
  await bringUpToDate(client, 0);
}

/** Brings the tables of a store up to date. Throws STORE_IO where there is none, STORE_FOREIGN, SCHEMA_NEWER, STORE_UNSUPPORTED. */
export async function migrateExisting(client: Client, address: PostgresAddress): Promise<void> {
  if ((await schemaOf(client, address)) === 0) {
    throw unreadable(address, noTables, 'Name the database and the schema of a store.');
  }
  await migrate(client, address);
}

/** Throws STORE_IO for a database that has no tables yet, STORE_FOREIGN, SCHEMA_NEWER, STORE_UNSUPPORTED. */
export async function assertReadable(client: Client, address: PostgresAddress): Promise<void> {
  await assertVersion(client, address);
  const found = await schemaOf(client, address);
  if (found === schemaNumber) return;
  const problem = found === 0 ? noTables : `has schema ${found}, which is older than ${schemaNumber}`;
  throw unreadable(address, problem, 'Open it once without readOnly: that makes the tables or brings them up to date.');
}

function unreadable(address: PostgresAddress, problem: string, hint: string): StoreError {
  return new StoreError('STORE_IO', `The schema ${address.schema} of the database ${address.database} ${problem}.`, {
    facts: { ...factsOf(address), problem },
    hint,
  });
}

/** The error for a schema that a newer release has made; undefined for one that this release knows. */
export function newerSchema(found: number, address: PostgresAddress): StoreError | undefined {
  if (found <= schemaNumber) return undefined;
  return new StoreError('SCHEMA_NEWER', `The database has schema ${found}; this release knows up to ${schemaNumber}.`, {
    facts: { ...factsOf(address), found, known: schemaNumber },
    hint: 'Use a newer release of procura for this database.',
  });
}

/** Makes the schema and goes into it, one program after another. Answers with the number of its tables' schema. */
async function enterSchema(client: Client, address: PostgresAddress): Promise<number> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [migrationLock]);
  // CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even where the schema exists.
  const { rows } = await client.query<{ found: string | null }>('SELECT to_regnamespace($1)::text AS found', [
    `"${address.schema}"`,
  ]);
  if (rows[0]?.found == null) await client.query(`CREATE SCHEMA "${address.schema}"`);
  await client.query(`SET LOCAL search_path TO "${address.schema}"`);
  return schemaOf(client, address);
}

async function bringUpToDate(client: Client, from: number): Promise<void> {
  await client.query(functions);
  for (const { sql } of migrations.slice(from)) await client.query(sql);
  await client.query(storageParameters);
  await client.query(
    `INSERT INTO "head" ("only", "schema", "no", "writer", "at", "facts") VALUES (1, $1, 0, '', 0, '{}')
     ON CONFLICT ("only") DO UPDATE SET "schema" = excluded."schema"`,
    [schemaNumber],
  );
}

/** The number of the schema; 0 when there is none. Throws STORE_FOREIGN for tables of another program. */
async function schemaOf(client: Client, address: PostgresAddress): Promise<number> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p', 'v', 'm', 'f')",
    [`"${address.schema}"`],
  );
  const names = new Set(rows.map(({ name }) => name));
  if (names.size === 0) return 0;
  if (!(names.has('head') && names.has('writers') && names.has('audit_records'))) throw foreign(address);
  const head = await client.query<{ schema: string }>(
    `SELECT "schema" FROM "${address.schema}"."head" WHERE "only" = 1`,
  );
  const found = Number(head.rows[0]?.schema ?? 0);
  const newer = newerSchema(found, address);
  if (newer !== undefined) throw newer;
  return found;
}

async function assertVersion(client: Client, address: PostgresAddress): Promise<void> {
  const { rows } = await client.query<{ number: string; name: string }>(
    "SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS name",
  );
  const found = rows[0];
  if (found === undefined || Number(found.number) >= serverVersionMin) return;
  throw new StoreError('STORE_UNSUPPORTED', `PostgreSQL ${found.name} is too old; 14 is needed.`, {
    facts: { ...factsOf(address), found: found.name, least: '14' },
    hint: 'Use a newer server.',
  });
}

function foreign(address: PostgresAddress): StoreError {
  return new StoreError(
    'STORE_FOREIGN',
    `The schema ${address.schema} of the database ${address.database} has tables that are not of Procura. It was left alone.`,
    { facts: factsOf(address), hint: 'Name another schema: add ?schema=NAME to the address.' },
  );
}
