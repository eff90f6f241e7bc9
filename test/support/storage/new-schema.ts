import { onTestFinished } from 'vitest';
import { newStore } from '../kernel.js';
import { rawSql } from './raw-sql.js';

/** The address of a schema that is not there yet, in a database of its own; removed after the test. */
export async function newSchema(name: string): Promise<string> {
  const database = await newStore();
  onTestFinished(async () => void (await rawSql(database, `DROP SCHEMA IF EXISTS "${name}" CASCADE`)));
  const url = new URL(database);
  url.searchParams.set('schema', name);
  return url.href;
}
