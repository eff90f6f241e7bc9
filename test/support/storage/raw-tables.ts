import { onTestFinished } from 'vitest';
import { openRaw, type RawConnection, type RawRow, type RawStatement } from './raw-connection.js';

export type { RawRow } from './raw-connection.js';

/** The tables of a store behind the kernel's back, as another program sees and changes them. */
export class RawTables implements AsyncDisposable {
  private opening: Promise<RawConnection> | undefined;

  constructor(private readonly store: string) {}

  /** `orderBy`: columns; without it, rows are in the order of the table. */
  async rows<Row = RawRow>(table: string, orderBy?: string): Promise<Row[]> {
    const order = orderBy ?? (await (await this.open()).orderOf(table));
    return this.query(`SELECT * FROM ${table}${order === undefined ? '' : ` ORDER BY ${order}`}`);
  }

  async count(table: string): Promise<number> {
    const [row] = await this.query<{ n: number }>(`SELECT count(*) AS n FROM ${table}`);
    return row?.n ?? 0;
  }

  async find<Row = RawRow>(table: string, key: RawRow): Promise<Row | undefined> {
    return (await this.query<Row>(`SELECT * FROM ${table} WHERE ${equal(key, ' AND ')}`, ...Object.values(key)))[0];
  }

  /** Changes the rows with `key`, or all of them; answers with their number. */
  async update(table: string, key: RawRow, columns: RawRow): Promise<number> {
    const where = Object.keys(key).length === 0 ? '' : ` WHERE ${equal(key, ' AND ')}`;
    const values = [...Object.values(columns), ...Object.values(key)];
    return (await this.query(`UPDATE ${table} SET ${equal(columns, ', ')}${where} RETURNING 1`, ...values)).length;
  }

  async insert(table: string, ...rows: RawRow[]): Promise<void> {
    const statements = rows.map((row): RawStatement => {
      const names = Object.keys(row);
      return [
        `INSERT INTO ${table} (${names.map((name) => `"${name}"`)}) VALUES (${names.map(() => '?')})`,
        ...Object.values(row),
      ];
    });
    await (await this.open()).run(statements);
  }

  async delete(table: string, key: RawRow): Promise<void> {
    await this.query(`DELETE FROM ${table} WHERE ${equal(key, ' AND ')}`, ...Object.values(key));
  }

  /** Runs `read` on one committed state. */
  async snapshot<T>(read: () => Promise<T>): Promise<T> {
    return (await this.open()).snapshot(read);
  }

  /** Holds the write lock of the store until disposed; changes that are made meanwhile are seen from then on. */
  async lock(): Promise<AsyncDisposable> {
    return (await this.open()).lock();
  }

  /** Makes every insert or update of the table fail, until disposed: the commit of whoever makes it is refused. */
  async refuse(change: 'INSERT' | 'UPDATE', table: string): Promise<AsyncDisposable> {
    return (await this.open()).refuse(change, table);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.opening)?.close();
  }

  private async query<Row = RawRow>(...statement: RawStatement): Promise<Row[]> {
    const [rows = []] = await (await this.open()).run([statement]);
    return rows as Row[];
  }

  private open(): Promise<RawConnection> {
    this.opening ??= openRaw(this.store);
    return this.opening;
  }
}

/** Raw tables that are closed after the test. */
export function openRawTables(store: string): RawTables {
  const tables = new RawTables(store);
  onTestFinished(() => tables[Symbol.asyncDispose]());
  return tables;
}

/** Names are quoted: `right` is a word of SQL. */
function equal(columns: RawRow, separator: string): string {
  return Object.keys(columns)
    .map((name) => `"${name}" = ?`)
    .join(separator);
}
