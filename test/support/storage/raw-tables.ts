import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';

type Value = string | number | null;
export type RawRow = Record<string, Value>;

/**
 * The tables of a store behind the kernel's back, as another program sees and changes them. Kernel fixtures open the
 * database here and nowhere else, so that another store needs only another version of this file.
 */
export class RawTables implements Disposable {
  private readonly db: Database.Database;

  constructor(store: string) {
    this.db = new Database(store);
    this.db.pragma('busy_timeout = 5000');
  }

  /** `orderBy`: columns; without it, rows are in the order of the table. */
  rows<Row = RawRow>(table: string, orderBy?: string): Row[] {
    const order = orderBy === undefined ? '' : ` ORDER BY ${orderBy}`;
    return this.db.prepare<[], Row>(`SELECT * FROM ${table}${order}`).all();
  }

  count(table: string): number {
    return this.db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
  }

  find<Row = RawRow>(table: string, key: RawRow): Row | undefined {
    return this.db.prepare<[RawRow], Row>(`SELECT * FROM ${table} WHERE ${equals(key).join(' AND ')}`).get(key);
  }

  /** Changes the rows with `key`, or all of them; answers with their number. */
  update(table: string, key: RawRow, columns: RawRow): number {
    const where = Object.keys(key).length === 0 ? '' : ` WHERE ${equals(key).join(' AND ')}`;
    return this.db.prepare(`UPDATE ${table} SET ${equals(columns).join(', ')}${where}`).run({ ...key, ...columns })
      .changes;
  }

  insert(table: string, ...rows: RawRow[]): void {
    this.db.transaction(() => {
      for (const row of rows) {
        const names = Object.keys(row);
        this.db.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `@${name}`)})`).run(row);
      }
    })();
  }

  delete(table: string, key: RawRow): void {
    this.db.prepare(`DELETE FROM ${table} WHERE ${equals(key).join(' AND ')}`).run(key);
  }

  /** Runs `read` on one committed state. */
  snapshot<T>(read: () => T): T {
    return this.db.transaction(read)();
  }

  /** Holds the write lock of the store until disposed; changes that are made meanwhile are seen from then on. */
  lock(): Disposable {
    this.db.exec('BEGIN IMMEDIATE');
    return { [Symbol.dispose]: () => void this.db.exec('COMMIT') };
  }

  /** Makes every insert or update of the table fail, until disposed: the commit of whoever makes it is refused. */
  refuse(change: 'INSERT' | 'UPDATE', table: string): Disposable {
    this.db.exec(`CREATE TRIGGER refused BEFORE ${change} ON ${table} BEGIN SELECT RAISE(ABORT, 'refused'); END`);
    return { [Symbol.dispose]: () => void this.db.exec('DROP TRIGGER refused') };
  }

  [Symbol.dispose](): void {
    this.db.close();
  }
}

/** Raw tables that are closed after the test. */
export function openRawTables(store: string): RawTables {
  const tables = new RawTables(store);
  onTestFinished(() => tables[Symbol.dispose]());
  return tables;
}

function equals(columns: RawRow): string[] {
  return Object.keys(columns).map((name) => `${name} = @${name}`);
}
