import { and, asc, type Column, getTableColumns, sql, type Table } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Db, RawStatement, StatementConnection } from '../statements/statement-connection.js';
import type { StoredValues } from './row-codec.js';
import type { ListShape } from './row-statements.js';

/** Prepares a statement on a connection. Each connection keeps what it has prepared by this function. */
export type Prepare<Values extends readonly unknown[]> = (
  db: Db,
  connection: StatementConnection,
) => RawStatement<Values, StoredValues>;

/** The rows whose value in `column` is one of an array that is given as JSON. */
export function rowsByValues(table: Table, column: Column): Prepare<[values: string]> {
  return (db, connection) => {
    const rows = db.select(getTableColumns(table)).from(table as object as SQLiteTable);
    const query = rows.where(connection.dialect.inList(column, 'values'));
    return connection.prepare<[string], StoredValues>(query.toSQL().sql).raw();
  };
}

/** Up to a number of rows of the lists with these values, which are given as JSON: the rows of one list after those of another. */
export function rowsOfLists(
  table: Table,
  column: Column,
  { condition }: ListShape,
): Prepare<[values: string, limit: number]> {
  return (db, connection) => {
    const rows = db.select(getTableColumns(table)).from(table as object as SQLiteTable);
    const isListed = condition === undefined ? undefined : sql.raw(condition);
    const query = rows
      .where(and(connection.dialect.inList(column, 'values'), isListed))
      .orderBy(asc(column))
      .limit(sql.placeholder('limit'));
    return connection.prepare<[string, number], StoredValues>(query.toSQL().sql).raw();
  };
}
