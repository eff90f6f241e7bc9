import type { Table } from 'drizzle-orm';
import { RowCodec, type StoredValues } from './row-codec.js';
import type { TableShape } from './row-statements.js';
import type { MemoryList, MemoryShape } from './table-memory.js';

type ColumnName<T extends Table> = keyof T['_']['columns'] & string;

/** How the rows of a table are kept in the working set. */
export interface TableOptions<T extends Table, List extends string> {
  /** The columns of its primary key. */
  readonly key: readonly ColumnName<T>[];
  /** Another unique column, by which rows are found too. */
  readonly other?: ColumnName<T>;
  /** Columns whose values are never changed by whoever gets a row. */
  readonly frozen?: readonly ColumnName<T>[];
  /** Lists of the rows that have one value in a column in common, by name. */
  readonly lists?: Readonly<Record<List, ColumnName<T> | ListOptions<T>>>;
}

interface ListOptions<T extends Table> {
  readonly column: ColumnName<T>;
  /** Only rows in which this column is null. */
  readonly whereNull: ColumnName<T>;
}

let described = 0;

/** A table of the working set. */
export class TableDescription implements TableShape, MemoryShape {
  /** Tells the described tables apart. */
  readonly number = described++;
  readonly codec: RowCodec<Table>;
  readonly keyPositions: readonly number[];
  readonly keyColumns: readonly string[];
  readonly otherPosition: number | undefined;
  readonly otherColumn: string | undefined;
  readonly lists: readonly MemoryList[];

  constructor(table: Table, options: TableOptions<Table, string>) {
    const { key, other, frozen = [], lists = {} } = options as TableOptions<never, string>;
    this.codec = new RowCodec(table, frozen);
    this.keyPositions = key.map((name) => this.codec.positionOf(name));
    this.keyColumns = this.keyPositions.map((position) => this.columnAt(position));
    this.otherPosition = other === undefined ? undefined : this.codec.positionOf(other);
    this.otherColumn = this.otherPosition === undefined ? undefined : this.columnAt(this.otherPosition);
    this.lists = Object.entries(lists).map(([name, list]) => this.listOf(name, list as string | ListOptions<never>));
  }

  get tableName(): string {
    return this.codec.tableName;
  }

  get columnNames(): readonly string[] {
    return this.codec.columnNames;
  }

  private columnAt(position: number): string {
    return this.columnNames[position] as string;
  }

  private listOf(name: string, list: string | ListOptions<never>): MemoryList {
    if (typeof list === 'string') {
      const position = this.codec.positionOf(list);
      return { name, position, column: this.columnAt(position), includes: isAny };
    }
    const position = this.codec.positionOf(list.column);
    const empty = this.codec.positionOf(list.whereNull);
    return {
      name,
      position,
      column: this.columnAt(position),
      condition: `"${this.columnAt(empty)}" IS NULL`,
      includes: (values: StoredValues) => values[empty] === null,
    };
  }
}

const isAny = () => true;
