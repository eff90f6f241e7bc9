import type Database from 'better-sqlite3';
import { type SQL, sql } from 'drizzle-orm';
import type { WriteTx } from '../../base/store.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';

/** Tables whose row numbers other rows refer to, also after the row is gone: a number is never given twice. */
type NumberedTable = 'processes' | 'views' | 'view_entries';

/*
 * SQLite gives the number after the highest that is in the table. The highest that was ever deleted is kept in its own table of
 * sequences, where AUTOINCREMENT keeps its numbers too, but is written only when rows are deleted.
 */

/** The number of a new row. */
export function nextNumber(table: NumberedTable): SQL<number> {
  const highest = sql.raw(`SELECT max(n) FROM ${table}`);
  const kept = sql.raw(`SELECT seq FROM sqlite_sequence WHERE name = '${table}'`);
  return sql<number>`max(coalesce((${highest}), 0), coalesce((${kept}), 0)) + 1`;
}

const statements = prepareStatements((_db: Db, raw: Database.Database) => ({
  update: raw.prepare<[number, string]>('UPDATE sqlite_sequence SET seq = ? WHERE name = ?'),
  insert: raw.prepare<[number, string]>('INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)'),
  find: raw.prepare<[string], number>('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck(),
  highest: {
    processes: raw.prepare<[], number | null>('SELECT max(n) FROM processes').pluck(),
    views: raw.prepare<[], number | null>('SELECT max(n) FROM views').pluck(),
    view_entries: raw.prepare<[], number | null>('SELECT max(n) FROM view_entries').pluck(),
  },
}));

/** To be called before rows of the table are deleted. */
export function keepNumbers(tx: WriteTx, table: NumberedTable): void {
  const { find, highest, update, insert } = statements.write(tx);
  const kept = find.get(table);
  const last = highest[table].get() ?? 0;
  if (kept === undefined) insert.run(last, table);
  else if (last > kept) update.run(last, table);
}
