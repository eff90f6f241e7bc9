import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isPostgres } from './postgres-raw-connection.js';
import { rawSql } from './raw-sql.js';

/** Everything in a store that nobody writes to: the bytes of its file, or the rows of all its tables. */
export async function readStore(store: string): Promise<Buffer> {
  if (!isPostgres(store)) return readFileSync(store);
  const tables = await rawSql<{ name: string }>(
    store,
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1',
  );
  const contents: string[] = [];
  for (const { name } of tables) {
    const [row] = await rawSql(store, `SELECT json_agg(t ORDER BY t::text)::text AS rows FROM "${name}" AS t`);
    contents.push(`${name}: ${row?.rows}\n`);
  }
  return Buffer.from(contents.join(''));
}

/** Whether a text is found anywhere in a store, or in the files beside it. */
export async function isKept(store: string, text: string): Promise<boolean> {
  if (!isPostgres(store)) return readFiles(dirname(store)).some((bytes) => bytes.includes(text));
  const files = readFiles(process.env.XDG_STATE_HOME ?? '');
  return [await readStore(store), ...files].some((bytes) => bytes.includes(text));
}

function readFiles(folder: string): Buffer[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name)));
}
