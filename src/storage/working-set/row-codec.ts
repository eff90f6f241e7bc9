import { strict as assert } from 'node:assert';
import { Column, getTableColumns, getTableName, type InferSelectModel, type Table } from 'drizzle-orm';
import { isStorable, notStorable } from './storable.js';

/** The values of a row as the database has them, in the order of its columns. */
export type StoredValues = readonly unknown[];

/** Translates between the rows of a table and what the database stores of them. Compiled once per table. */
export class RowCodec<T extends Table> {
  readonly tableName: string;
  /** The names of the columns in the database, in the order of the values. */
  readonly columnNames: readonly string[];
  private readonly names: readonly string[];
  private readonly columns: readonly Column[];
  /** The positions of the columns whose values are objects that a caller could change. */
  private readonly objectPositions: readonly number[];
  /** The positions of the columns that are stored in another form than they have in a row. */
  private readonly isConverted: readonly boolean[];
  private readonly isFrozen: readonly boolean[];
  private readonly template: Readonly<Record<string, unknown>>;

  /** `frozen`: columns whose objects are frozen, and so are never copied. */
  constructor(table: T, frozen: readonly string[] = []) {
    const byName = getTableColumns(table) as Record<string, Column>;
    this.tableName = getTableName(table);
    this.names = Object.keys(byName);
    this.columns = Object.values(byName);
    this.columnNames = this.columns.map(({ name }) => name);
    this.isConverted = this.columns.map((column) => column.mapToDriverValue !== Column.prototype.mapToDriverValue);
    this.objectPositions = this.columns.flatMap(({ dataType }, index) =>
      dataType === 'custom' && !frozen.includes(this.names[index] as string) ? [index] : [],
    );
    this.isFrozen = this.names.map((name) => frozen.includes(name));
    this.template = Object.fromEntries(this.names.map((name) => [name, null]));
  }

  /** The position of a column among the values. */
  positionOf(name: string): number {
    const position = this.names.indexOf(name);
    assert(position >= 0, `${this.tableName} has no column ${name}`);
    return position;
  }

  columnOf(position: number): Column {
    return this.columns[position] as Column;
  }

  encode(row: Readonly<Record<string, unknown>>): unknown[] {
    const values: unknown[] = new Array(this.names.length);
    for (let index = 0; index < values.length; index++) {
      const name = this.names[index] as string;
      const value = row[name];
      assert(value !== undefined, `no value for ${this.tableName}.${name}`);
      const stored = value === null || !this.isConverted[index] ? value : this.columns[index]?.mapToDriverValue(value);
      if (!isStorable(stored)) throw notStorable(`${this.tableName}.${name}`);
      values[index] = stored;
    }
    return values;
  }

  decode(values: StoredValues): InferSelectModel<T> {
    const row: Record<string, unknown> = { ...this.template };
    for (let index = 0; index < values.length; index++) {
      row[this.names[index] as string] = this.decodeAt(values, index);
    }
    return row as InferSelectModel<T>;
  }

  /** A copy of a decoded row whose objects are its own; the row itself where it has none. */
  copy(row: InferSelectModel<T>, values: StoredValues): InferSelectModel<T> {
    let copied: Record<string, unknown> | undefined;
    for (const index of this.objectPositions) {
      if (values[index] === null) continue;
      copied ??= { ...row };
      copied[this.names[index] as string] = this.decodeAt(values, index);
    }
    return (copied as InferSelectModel<T> | undefined) ?? row;
  }

  private decodeAt(values: StoredValues, index: number): unknown {
    const value = values[index];
    if (value === null || !this.isConverted[index]) return value;
    const decoded = this.columns[index]?.mapFromDriverValue(value);
    return this.isFrozen[index] ? Object.freeze(decoded) : decoded;
  }
}
