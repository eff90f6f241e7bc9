import { getTableColumns, getTableName, is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { tablesByRowNumber } from '../schema/row-order.js';
import * as schema from '../schema/tables.js';

/** A table of a store, with everything of it that is moved. */
export interface TransferTable {
  readonly name: string;
  /** All columns, and the row number where rows are in its order. */
  readonly columns: readonly string[];
  /** The columns by which its rows are in order, in every kind of store. */
  readonly order: readonly string[];
  readonly hasRowNumber: boolean;
}

/** The tables of a store, which every kind of store has. */
export const transferTables: readonly TransferTable[] = Object.values(schema)
  .filter((value) => is(value, SQLiteTable))
  .map(toTransferTable)
  .sort((left, right) => (left.name < right.name ? -1 : 1));

function toTransferTable(table: SQLiteTable): TransferTable {
  const name = getTableName(table);
  const columns = Object.values(getTableColumns(table));
  const names = columns.map((column) => column.name);
  if (tablesByRowNumber.has(name)) {
    return { name, columns: [...names, 'rowid'], order: ['rowid'], hasRowNumber: true };
  }
  const [primaryKey] = getTableConfig(table).primaryKeys;
  const key = primaryKey?.columns ?? columns.filter(({ primary }) => primary);
  return { name, columns: names, order: key.map((column) => column.name), hasRowNumber: false };
}
