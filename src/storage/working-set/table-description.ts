import type { Table } from 'drizzle-orm';
import { RowCodec, type StoredValues } from './row-codec.js';
import type { TableShape } from './row-statements.js';
import type { MemoryList, MemoryShape } from './table-memory.js';

/** The key and the lists by which rows of a table are kept in the working set; `Column` is the name of a column. */
export interface TableOptions<Column extends string, List extends string> {
  /** The columns of its primary key. */
  readonly key: readonly Column[];
  /** Another unique column, by which rows are found too. */
  readonly other?: Column;
  /** Columns whose objects are frozen, and so are never copied. */
  readonly frozen?: readonly Column[];
  /** Lists of the rows that have one value in a column in common, by name. */
  readonly lists?: { readonly [Name in List]: Column | ListOptions<Column> };
}

interface ListOptions<Column extends string> {
  readonly column: Column;
  /** Only rows in which this column is null. */
  readonly whereNull: Column;
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

  constructor(table: Table, { key, other, frozen = [], lists = {} }: TableOptions<string, string>) {
    this.codec = new RowCodec(table, frozen);
    this.keyPositions = key.map((name) => this.codec.positionOf(name));
    this.keyColumns = this.keyPositions.map((position) => this.columnAt(position));
    this.otherPosition = other === undefined ? undefined : this.codec.positionOf(other);
    this.otherColumn = this.otherPosition === undefined ? undefined : this.columnAt(this.otherPosition);
    this.lists = Object.entries(lists).map(([name, list]) => this.listOf(name, list));
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

  private listOf(name: string, list: string | ListOptions<string>): MemoryList {
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
