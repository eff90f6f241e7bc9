import { performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';

/** The tables that a spawnChild writes, with the column that orders their rows and the rows that it writes to each. */
const tables = [
  { table: 'objects', key: 'id', each: 1 },
  { table: 'views', key: 'n', each: 1 },
  { table: 'processes', key: 'n', each: 1 },
  { table: 'accounts', key: 'n', each: 1 },
  { table: 'capabilities', key: 'id', each: 2 },
  { table: 'events', key: 'seq', each: 1 },
  { table: 'audit_records', key: 'seq', each: 1 },
] as const;

export interface SpawnRows {
  readonly spawns: number;
  /** The rows of each table, in the order of the spawns. */
  readonly rows: readonly (readonly unknown[])[][];
}

/** The rows that the last `spawns` spawnChild calls left in the database at `path`. */
export function rowsOfSpawns(path: string, spawns: number): SpawnRows {
  const db = new Database(path, { readonly: true });
  const rows = tables.map(({ table, key, each }) => {
    const newest = db
      .prepare(`SELECT * FROM ${table} ORDER BY ${key} DESC LIMIT ${spawns * each}`)
      .raw()
      .all();
    return (newest as unknown[][]).reverse();
  });
  db.close();
  return { spawns, rows };
}

/** Writes the same rows with better-sqlite3 and prepared statements alone: no ids, no hashes, no checks. */
export class RawWriter {
  private readonly db: Database.Database;
  private readonly inserts: Database.Statement[];
  private readonly begin: Database.Statement;
  private readonly commit: Database.Statement;
  private readonly save: Database.Statement;
  private readonly release: Database.Statement;
  private readonly selectParent: Database.Statement;
  private readonly updateAccount: Database.Statement;

  constructor(path: string, durability: 'full' | 'normal') {
    this.db = new Database(path);
    this.db.pragma('journal_mode = WAL');
    this.db.pragma(`synchronous = ${durability}`);
    this.db.pragma('cache_size = -16000');
    this.inserts = tables.map(({ table }) => {
      const width = this.db.prepare(`SELECT * FROM ${table}`).columns().length;
      return this.db.prepare(`INSERT INTO ${table} VALUES (${Array(width).fill('?').join(',')})`);
    });
    this.begin = this.db.prepare('BEGIN IMMEDIATE');
    this.commit = this.db.prepare('COMMIT');
    this.save = this.db.prepare('SAVEPOINT unit');
    this.release = this.db.prepare('RELEASE unit');
    this.selectParent = this.db.prepare('SELECT * FROM processes WHERE n = 1');
    this.updateAccount = this.db.prepare(
      'UPDATE accounts SET children_used = children_used + 1, born = born + 1 WHERE n = 1',
    );
  }

  /** Spawns per second, in transactions of `group` spawns with a savepoint each. */
  rate({ spawns, rows }: SpawnRows, group: number): number {
    const started = performance.now();
    for (let index = 0; index < spawns; index++) {
      if (index % group === 0) this.begin.run();
      this.spawn(rows, index);
      if (index % group === group - 1 || index === spawns - 1) this.commit.run();
    }
    return (spawns / (performance.now() - started)) * 1000;
  }

  close(): void {
    this.db.close();
  }

  private spawn(rows: SpawnRows['rows'], index: number): void {
    this.selectParent.get();
    this.save.run();
    this.updateAccount.run();
    for (const [at, { each }] of tables.entries()) {
      for (let row = index * each; row < (index + 1) * each; row++) this.inserts[at]?.run(rows[at]?.[row]);
    }
    this.release.run();
  }
}
