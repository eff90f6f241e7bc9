import { copyFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';

/** The tables that a spawnChild writes, with the column that orders their rows. */
const tables = [
  ['objects', 'id'],
  ['views', 'n'],
  ['processes', 'n'],
  ['accounts', 'n'],
  ['capabilities', 'id'],
  ['events', 'seq'],
  ['audit_records', 'seq'],
] as const;

/** The rows that the last `spawns` spawnChild calls left in the database at `path`, grouped by call. */
export function rowsOfSpawns(path: string, spawns: number): Map<string, unknown[][][]> {
  const db = new Database(path, { readonly: true });
  const perSpawn = new Map<string, unknown[][][]>();
  for (const [table, key] of tables) {
    const each = table === 'capabilities' ? 2 : 1;
    const rows = db.prepare(`SELECT * FROM ${table} ORDER BY ${key} DESC LIMIT ${spawns * each}`).raw().all() as unknown[][];
    rows.reverse();
    perSpawn.set(
      table,
      Array.from({ length: spawns }, (_, index) => rows.slice(index * each, (index + 1) * each)),
    );
  }
  db.close();
  return perSpawn;
}

/**
 * Spawns per second when better-sqlite3 writes the same rows with prepared statements and nothing else is done: in
 * groups of `group`, a savepoint each, on a copy of the database as it was before those spawns.
 */
export function rawRate(template: string, path: string, rows: Map<string, unknown[][][]>, group: number, sync: string): number {
  copyFileSync(template, path);
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma(`synchronous = ${sync}`);
  db.pragma('cache_size = -16000');
  const inserts = tables.map(([table]) => {
    const width = rows.get(table)?.[0]?.[0]?.length ?? 0;
    const insert = db.prepare(`INSERT INTO ${table} VALUES (${Array(width).fill('?').join(',')})`);
    return { insert, perSpawn: rows.get(table) ?? [] };
  });
  const look = db.prepare('SELECT * FROM processes WHERE pid = (SELECT pid FROM processes WHERE n = 1)');
  const count = db.prepare('UPDATE accounts SET children_used = children_used + 1, born = born + 1 WHERE n = 1');
  const [begin, commit, save, release] = ['BEGIN IMMEDIATE', 'COMMIT', 'SAVEPOINT unit', 'RELEASE unit'].map((text) =>
    db.prepare(text),
  ) as [Database.Statement, Database.Statement, Database.Statement, Database.Statement];
  const spawns = rows.get('processes')?.length ?? 0;
  const started = performance.now();
  for (let index = 0; index < spawns; index++) {
    if (index % group === 0) begin.run();
    look.get();
    save.run();
    count.run();
    for (const { insert, perSpawn } of inserts) for (const row of perSpawn[index] ?? []) insert.run(...row);
    release.run();
    if (index % group === group - 1 || index === spawns - 1) commit.run();
  }
  const perSecond = (spawns / (performance.now() - started)) * 1000;
  db.close();
  return perSecond;
}
