import { expect } from 'vitest';
import { rawSql } from '../storage/raw-sql.js';

/** Runs statements on the tables of the store, as somebody who may write them could. Each has to change something. */
export async function tamperTables(store: string, ...statements: string[]): Promise<void> {
  for (const statement of statements) expect(await rawSql(store, `${statement} RETURNING 1`)).not.toEqual([]);
}
