import type Database from 'better-sqlite3';
import type { StoredValues } from './row-codec.js';

/** A table as its statements need it. */
export interface TableShape {
  readonly tableName: string;
  readonly columnNames: readonly string[];
  /** The columns of its key. */
  readonly keyColumns: readonly string[];
}

/** A list of rows that have one value in common. */
export interface ListShape {
  readonly column: string;
  /** The condition of its rows, as SQL; absent: all with that value. */
  readonly condition?: string | undefined;
}

/** Updates of a table differ by the columns that they set; more variants than this are written as updates of all columns. */
const variantsMax = 64;

/** The prepared statements by which rows of one table are read and written whole, on one connection. */
export class RowStatements {
  private readonly selectByKey: Database.Statement;
  private readonly lists = new Map<string, Database.Statement>();
  private readonly updates = new Map<string, Database.Statement>();
  private insertRow: Database.Statement | undefined;
  private deleteRow: Database.Statement | undefined;

  constructor(
    private readonly raw: Database.Database,
    private readonly shape: TableShape,
  ) {
    this.selectByKey = this.selectBy(shape.keyColumns);
  }

  find(key: readonly unknown[]): StoredValues | undefined {
    return this.selectByKey.get(...key) as StoredValues | undefined;
  }

  findBy(column: string, value: unknown): StoredValues | undefined {
    const id = `by ${column}`;
    const statement = this.lists.get(id) ?? this.selectBy([column]);
    this.lists.set(id, statement);
    return statement.get(value) as StoredValues | undefined;
  }

  /** Up to `limit` rows of a list, in no particular order. */
  list(name: string, { column, condition }: ListShape, value: unknown, limit: number): StoredValues[] {
    let statement = this.lists.get(name);
    if (statement === undefined) {
      const where = `${quote(column)} = ?${condition === undefined ? '' : ` AND ${condition}`}`;
      statement = this.raw.prepare(`${this.selectText()} WHERE ${where} LIMIT ?`).raw();
      this.lists.set(name, statement);
    }
    return statement.all(value, limit) as StoredValues[];
  }

  insert(values: StoredValues): void {
    const { tableName, columnNames } = this.shape;
    this.insertRow ??= this.raw.prepare(
      `INSERT INTO ${quote(tableName)} (${columnNames.map(quote).join(', ')}) VALUES (${columnNames.map(() => '?').join(', ')})`,
    );
    this.insertRow.run(values);
  }

  /** Sets the columns whose values differ: SQLite rewrites the indexes of every column that an UPDATE names. */
  update(before: StoredValues, after: StoredValues, key: readonly unknown[]): void {
    const changed: number[] = [];
    for (let index = 0; index < after.length; index++) if (after[index] !== before[index]) changed.push(index);
    if (changed.length === 0) return;
    const { statement, positions } = this.updateOf(changed, after.length);
    const bound: unknown[] = [];
    for (const index of positions) bound.push(after[index]);
    statement.run(...bound, ...key);
  }

  delete(key: readonly unknown[]): void {
    this.deleteRow ??= this.raw.prepare(`DELETE FROM ${quote(this.shape.tableName)} WHERE ${this.keyText()}`);
    this.deleteRow.run(...key);
  }

  private updateOf(changed: readonly number[], width: number) {
    const variant = changed.join(',');
    const known = this.updates.get(variant);
    if (known !== undefined) return { statement: known, positions: changed };
    const positions = this.updates.size < variantsMax ? changed : Array.from({ length: width }, (_, index) => index);
    const name = positions.join(',');
    const statement = this.updates.get(name) ?? this.prepareUpdate(positions);
    this.updates.set(name, statement);
    return { statement, positions };
  }

  private prepareUpdate(positions: readonly number[]): Database.Statement {
    const { tableName, columnNames } = this.shape;
    const assignments = positions.map((index) => `${quote(columnNames[index] as string)} = ?`).join(', ');
    return this.raw.prepare(`UPDATE ${quote(tableName)} SET ${assignments} WHERE ${this.keyText()}`);
  }

  private selectBy(columns: readonly string[]): Database.Statement {
    const where = columns.map((column) => `${quote(column)} = ?`).join(' AND ');
    return this.raw.prepare(`${this.selectText()} WHERE ${where}`).raw();
  }

  private selectText(): string {
    return `SELECT ${this.shape.columnNames.map(quote).join(', ')} FROM ${quote(this.shape.tableName)}`;
  }

  private keyText(): string {
    return this.shape.keyColumns.map((column) => `${quote(column)} = ?`).join(' AND ');
  }
}

function quote(name: string): string {
  return `"${name}"`;
}
