import type Database from 'better-sqlite3';
import type { WriteTx } from '../../base/store.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { Fact } from './facts.js';

/** Tables whose row numbers are given here. Other rows refer to them, also after the row is gone: none is given twice. */
type NumberedTable = 'processes' | 'views' | 'view_entries' | 'messages';

/*
 * A new row gets the number after the highest that is in the table. The highest that was ever deleted is kept in SQLite's own
 * table of sequences, where AUTOINCREMENT keeps its numbers too, but is written only when rows are deleted.
 */
const statements = prepareStatements((_db: Db, raw: Database.Database) => ({
  update: raw.prepare<[number, string]>('UPDATE sqlite_sequence SET seq = ? WHERE name = ?'),
  insert: raw.prepare<[number, string]>('INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)'),
  find: raw.prepare<[string], number>('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck(),
  last: {
    processes: raw.prepare<[], number | null>('SELECT max(n) FROM processes').pluck(),
    views: raw.prepare<[], number | null>('SELECT max(n) FROM views').pluck(),
    view_entries: raw.prepare<[], number | null>('SELECT max(n) FROM view_entries').pluck(),
    messages: raw.prepare<[], number | null>('SELECT max(n) FROM messages').pluck(),
  },
}));

const highest: Readonly<Record<NumberedTable, Fact<number>>> = {
  processes: new Fact('highest number of processes'),
  views: new Fact('highest number of views'),
  view_entries: new Fact('highest number of view_entries'),
  messages: new Fact('highest number of messages'),
};

/** Gives the number of a new row. */
export function takeNumber(tx: WriteTx, table: NumberedTable): number {
  const fact = highest[table];
  const number = fact.get(tx, () => findHighest(tx, table)) + 1;
  fact.set(tx, number);
  return number;
}

function findHighest(tx: WriteTx, table: NumberedTable): number {
  const { find, last } = statements.read(tx);
  return Math.max(last[table].get() ?? 0, find.get(table) ?? 0);
}

/** To be called before rows of the table are deleted. */
export function keepNumbers(tx: WriteTx, table: NumberedTable): void {
  const { find, last, update, insert } = statements.write(tx);
  const kept = find.get(table);
  const number = last[table].get() ?? 0;
  if (kept === undefined) insert.run(number, table);
  else if (number > kept) update.run(number, table);
}
