import type { ReadTx, WriteTx } from '../../base/store.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { Fact } from './facts.js';

/** Tables whose row numbers are given here. Other rows refer to them, also after the row is gone: none is given twice. */
type NumberedTable = 'processes' | 'views' | 'view_entries' | 'messages' | 'object_versions';

/*
 * A new row gets the number after the highest that is in the table. The highest that was ever deleted is kept in SQLite's own
 * table of sequences, where AUTOINCREMENT keeps its numbers too, but is written only when rows are deleted.
 */
const statements = prepareStatements((_db: Db, raw: StatementConnection) => ({
  update: raw.prepare<[number, string]>('UPDATE sqlite_sequence SET seq = ? WHERE name = ?'),
  insert: raw.prepare<[number, string]>('INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)'),
  find: raw.prepare<[string], number>('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck(),
  keepsNewestNumbers: raw.dialect.keepsNewestNumbers,
  last: {
    processes: raw.prepare<[], number | null>('SELECT max(n) FROM processes').pluck(),
    views: raw.prepare<[], number | null>('SELECT max(n) FROM views').pluck(),
    view_entries: raw.prepare<[], number | null>('SELECT max(n) FROM view_entries').pluck(),
    messages: raw.prepare<[], number | null>('SELECT max(n) FROM messages').pluck(),
    object_versions: raw.prepare<[], number | null>('SELECT max(n) FROM object_versions').pluck(),
  },
}));

const highest: Readonly<Record<NumberedTable, Fact<number>>> = {
  processes: new Fact('highest number of processes'),
  views: new Fact('highest number of views'),
  view_entries: new Fact('highest number of view_entries'),
  messages: new Fact('highest number of messages'),
  object_versions: new Fact('highest number of object_versions'),
};

/** Gives the number of a new row. */
export async function takeNumber(tx: WriteTx, table: NumberedTable): Promise<number> {
  const fact = highest[table];
  const number = (await highestNumber(tx, table)) + 1;
  fact.set(tx, number);
  return number;
}

async function findHighest(tx: ReadTx, table: NumberedTable): Promise<number> {
  const { find, last, keepsNewestNumbers } = statements.read(tx);
  const newest = (await last[table].get()) ?? 0;
  return keepsNewestNumbers ? newest : Math.max(newest, (await find.get(table)) ?? 0);
}

/** The highest number that was given to a row of the table; every later row has a higher one. */
export async function highestNumber(tx: ReadTx, table: NumberedTable): Promise<number> {
  return highest[table].get(tx, () => findHighest(tx, table));
}

/** To be called before rows of the table are deleted. */
export async function keepNumbers(tx: WriteTx, table: NumberedTable): Promise<void> {
  const { find, last, update, insert, keepsNewestNumbers } = statements.write(tx);
  if (keepsNewestNumbers) return;
  const kept = await find.get(table);
  const number = (await last[table].get()) ?? 0;
  if (kept === undefined) insert.run(number, table);
  else if (number > kept) update.run(number, table);
}

/** The highest numbers by table. */
export type HighestNumbers = Readonly<Record<NumberedTable, number>>;

const numberedTables = Object.keys(highest) as readonly NumberedTable[];

/** The highest numbers that were given in a store. */
export async function readNumbers(tx: ReadTx): Promise<HighestNumbers> {
  const numbers: Partial<Record<NumberedTable, number>> = {};
  for (const table of numberedTables) numbers[table] = await highestNumber(tx, table);
  return numbers as HighestNumbers;
}

/** Has the numbers of a store go on behind these. Its rows are there already. */
export async function continueNumbers(tx: WriteTx, numbers: HighestNumbers): Promise<void> {
  const { find, update, insert, keepsNewestNumbers } = statements.write(tx);
  for (const table of numberedTables) {
    const number = numbers[table];
    highest[table].set(tx, number);
    if (keepsNewestNumbers) continue;
    if ((await find.get(table)) === undefined) insert.run(number, table);
    else update.run(number, table);
  }
}
