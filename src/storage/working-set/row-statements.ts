import type { MaybePromise } from '../statements/maybe-promise.js';
import type { RawStatement, StatementConnection } from '../statements/statement-connection.js';
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

type Statement = RawStatement<unknown[], StoredValues>;

/** The prepared statements by which rows of one table are read and written whole, on one connection. */
export class RowStatements {
  private readonly selectByKey: Statement;
  private readonly lists = new Map<string, Statement>();
  private readonly updates = new Map<string, Statement>();
  private insertRow: Statement | undefined;
  private deleteRow: Statement | undefined;

  constructor(
    private readonly connection: StatementConnection,
    private readonly shape: TableShape,
  ) {
    this.selectByKey = this.selectBy(shape.keyColumns);
  }

  find(key: readonly unknown[]): MaybePromise<StoredValues | undefined> {
    return this.selectByKey.get(...key);
  }

  findBy(column: string, value: unknown): MaybePromise<StoredValues | undefined> {
    const id = `by ${column}`;
    const statement = this.lists.get(id) ?? this.selectBy([column]);
    this.lists.set(id, statement);
    return statement.get(value);
  }

  /** Up to `limit` rows of a list, in no particular order. */
  list(name: string, { column, condition }: ListShape, value: unknown, limit: number): MaybePromise<StoredValues[]> {
    let statement = this.lists.get(name);
    if (statement === undefined) {
      const where = `${quote(column)} = ?${condition === undefined ? '' : ` AND ${condition}`}`;
      statement = this.connection.prepare<unknown[], StoredValues>(`${this.selectText()} WHERE ${where} LIMIT ?`).raw();
      this.lists.set(name, statement);
    }
    return statement.all(value, limit);
  }

  insert(values: StoredValues): void {
    const { tableName, columnNames } = this.shape;
    this.insertRow ??= this.connection.prepare<unknown[], StoredValues>(
      `INSERT INTO ${quote(tableName)} (${columnNames.map(quote).join(', ')}) VALUES (${columnNames.map(() => '?').join(', ')})`,
    );
    this.insertRow.run(...values);
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
    this.deleteRow ??= this.connection.prepare<unknown[], StoredValues>(
      `DELETE FROM ${quote(this.shape.tableName)} WHERE ${this.keyText()}`,
    );
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

  private prepareUpdate(positions: readonly number[]): Statement {
    const { tableName, columnNames } = this.shape;
    const assignments = positions.map((index) => `${quote(columnNames[index] as string)} = ?`).join(', ');
    return this.connection.prepare<unknown[], StoredValues>(
      `UPDATE ${quote(tableName)} SET ${assignments} WHERE ${this.keyText()}`,
    );
  }

  private selectBy(columns: readonly string[]): Statement {
    const where = columns.map((column) => `${quote(column)} = ?`).join(' AND ');
    return this.connection.prepare<unknown[], StoredValues>(`${this.selectText()} WHERE ${where}`).raw();
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
