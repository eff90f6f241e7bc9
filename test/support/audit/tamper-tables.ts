import Database from 'better-sqlite3';
import { expect } from 'vitest';

/** Runs statements on the file of the store, as somebody who may write it could. Each has to change something. */
export function tamperTables(path: string, ...statements: string[]): void {
  const database = new Database(path);
  try {
    for (const statement of statements) expect(database.prepare(statement).run().changes).toBeGreaterThan(0);
  } finally {
    database.close();
  }
}
