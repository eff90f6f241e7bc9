import { openRaw, type RawRow, type RawStatement, type RawValue } from './raw-connection.js';

/**
 * Runs one statement on the tables of a store, as another program would, and answers with its rows. The text is one that both
 * kinds of stores understand, with `?` for each value; a change tells by RETURNING which rows it has met.
 */
export async function rawSql<Row = RawRow>(store: string, text: string, ...values: RawValue[]): Promise<Row[]> {
  const [rows = []] = await runRaw(store, [text, ...values]);
  return rows as Row[];
}

/** Runs statements in one transaction. */
export async function changeRaw(store: string, ...statements: (string | RawStatement)[]): Promise<void> {
  await runRaw(store, ...statements.map((one): RawStatement => (typeof one === 'string' ? [one] : one)));
}

async function runRaw(store: string, ...statements: RawStatement[]): Promise<RawRow[][]> {
  const connection = await openRaw(store);
  try {
    return await connection.run(statements);
  } finally {
    await connection.close();
  }
}
