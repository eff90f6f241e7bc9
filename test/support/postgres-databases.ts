import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';
import { addressOf, emptyTables, templateOf } from './postgres-template.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server of the run, the prefix of the names of its databases, and the folder of the state folders of stores. */
    readonly postgres: { readonly url: string; readonly prefix: string; readonly state: string };
  }
}

/** Integers that JavaScript can hold become numbers, and truth values 1 and 0, as SQLite has them. */
const plainTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC) return Number;
    if (oid === pg.types.builtins.BOOL) return (text: string) => Number(text === 't');
    return pg.types.getTypeParser(oid, format);
  },
};

/** A connection that does not keep this program running, and whose loss is told by its next query. */
export async function connectPlain(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, types: plainTypes, application_name: 'procura tests' });
  client.on('error', () => undefined);
  await client.connect();
  // The types of pg do not have it.
  (client as pg.Client & { unref(): void }).unref();
  return client;
}

/** A database of this worker, which tests have one after another. */
interface TestDatabase {
  readonly name: string;
  readonly address: string;
  /** Stays open: by it tests look past the kernel, and it empties the tables. */
  readonly client: pg.Client;
}

/** Databases that were given back, in that order, with the rows of their tests. */
const returned: TestDatabase[] = [];
/** So many rest at a time: who closes a connection does not wait until the server has, and meanwhile others can be used. */
const restingMin = 3;
const taken = new Map<string, TestDatabase>();
let made = 0;
let administration: Promise<pg.Client> | undefined;

/** The address of an empty database, a copy of the template. It is to be given back. */
export async function takeDatabase(): Promise<string> {
  const database = (await emptyReturned()) ?? (await copyTemplate());
  taken.set(database.address, database);
  return database.address;
}

/** Keeps the database for a later test. */
export function giveBack(address: string): void {
  const database = taken.get(address);
  if (database === undefined) throw new Error('the database was not taken');
  taken.delete(address);
  returned.push(database);
}

/** The database that was given back first, emptied. One that is still in use by somebody is removed. */
async function emptyReturned(): Promise<TestDatabase | undefined> {
  while (returned.length > restingMin) {
    const database = returned.shift() as TestDatabase;
    if (await isLeft(database)) {
      await database.client.query('ROLLBACK');
      await emptyTables(database.client);
      return database;
    }
    await database.client.end();
    await (await administrate()).query(`DROP DATABASE "${database.name}" WITH (FORCE)`);
  }
  return undefined;
}

/** The open connection to a database that was taken. */
export function clientOf(address: string): pg.Client | undefined {
  return taken.get(address)?.client;
}

async function copyTemplate(): Promise<TestDatabase> {
  const { url, prefix } = inject('postgres');
  const name = `${prefix}_${process.pid}_${++made}`;
  await (await administrate()).query(
    `CREATE DATABASE "${name}" TEMPLATE "${templateOf(prefix)}" ${copyStrategy(await versionOf())}`,
  );
  const address = addressOf(url, name);
  return { name, address, client: await connectPlain(address) };
}

/** Copying files is faster than writing the copy to the log; servers before 15 know nothing else. */
function copyStrategy(version: number): string {
  return version >= 150_000 ? 'STRATEGY FILE_COPY' : '';
}

async function versionOf(): Promise<number> {
  const { rows } = await (await administrate()).query<{ server_version_num: string }>('SHOW server_version_num');
  return Number(rows[0]?.server_version_num);
}

/** Whether all others have left the database. Those that close a connection do not wait until the server has. */
async function isLeft({ client }: TestDatabase): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const { rows } = await client.query<{ others: number }>(
      `SELECT count(*) AS others FROM pg_stat_activity
       WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    );
    if (rows[0]?.others === 0) return true;
    await sleep(10);
  }
  return false;
}

function administrate(): Promise<pg.Client> {
  administration ??= connectPlain(inject('postgres').url);
  return administration;
}
