import { newStore } from '../kernel.js';
import { isPostgres } from './postgres-raw-connection.js';
import { openRaw, type RawStatement } from './raw-connection.js';

/** Copies what is committed in a store, which may be open, into a new one, and answers with its address. */
export async function copyStore(store: string): Promise<string> {
  const copy = await newStore();
  const from = await openRaw(store);
  try {
    if (isPostgres(store)) await copyTables(from, copy);
    else await from.run([['VACUUM INTO ?', copy]]);
  } finally {
    await from.close();
  }
  return copy;
}

async function copyTables(from: Awaited<ReturnType<typeof openRaw>>, copy: string): Promise<void> {
  const to = await openRaw(copy);
  const [tables = []] = await from.run([
    ['SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()'],
  ]);
  const statements = await from.snapshot(async () => {
    const inserts: RawStatement[] = [];
    for (const { name } of tables) {
      const [[found] = []] = await from.run([[`SELECT json_agg(t)::text AS rows FROM "${name}" AS t`]]);
      const { rows = '[]' } = found ?? {};
      inserts.push([`DELETE FROM "${name}"`]);
      inserts.push([`INSERT INTO "${name}" SELECT * FROM json_populate_recordset(NULL::"${name}", ?::json)`, rows]);
    }
    return inserts;
  });
  await to.run(statements);
  await to.close();
}
