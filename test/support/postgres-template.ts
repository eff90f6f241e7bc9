import pg from 'pg';
import { createKernel } from '../../src/index.js';

/** The schema that an address names when it names none. */
export const defaultSchema = 'procura';

/** The address of another database on the same server. */
export function addressOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

export function templateOf(prefix: string): string {
  return `${prefix}_template`;
}

/** Makes the database that others are copied from: the tables as a kernel makes them, without rows. */
export async function makeTemplate(serverUrl: string, prefix: string): Promise<void> {
  await withClient(serverUrl, (admin) => admin.query(`CREATE DATABASE "${templateOf(prefix)}"`));
  const address = addressOf(serverUrl, templateOf(prefix));
  await createTables(address);
  await withClient(address, emptyTables);
}

async function createTables(address: string): Promise<void> {
  const kernel = await createKernel({ store: address, logger: 'silent', seed: 'template', node: { executor: false } });
  await kernel.shutdown();
}

/** Removes everything from a database that no kernel has open: it is as one that was just made. */
export async function emptyTables(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 AND tablename <> 'head' ORDER BY 1",
    [defaultSchema],
  );
  const statements = rows.map(({ name }) => `DELETE FROM "${defaultSchema}"."${name}"`);
  const begin = `UPDATE "${defaultSchema}"."head" SET "no" = 0, "writer" = '', "at" = 0, "facts" = '{}'`;
  await client.query([begin, ...statements].join(';'));
}

/** Removes the databases whose names begin with `prefix`. */
export async function dropDatabases(serverUrl: string, prefix: string): Promise<void> {
  await withClient(serverUrl, async (admin) => {
    const { rows } = await admin.query<{ name: string }>(
      'SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1)',
      [`${prefix}_`],
    );
    for (const { name } of rows) await admin.query(`DROP DATABASE "${name}" WITH (FORCE)`);
  });
}

/** Runs `work` on a connection of its own. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'procura tests' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
