import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core';
import type { Dialect } from './dialect.js';
import type { MaybePromise } from './maybe-promise.js';

/** Builds queries over the described tables. The text that comes out is that of the engine of the connection. */
export type Db = BaseSQLiteDatabase<'sync' | 'async', unknown>;

/** A statement that is prepared on one connection. Values are given by position, or by name as one object. */
export interface RawStatement<Values extends readonly unknown[], Row> {
  get(...values: Values): MaybePromise<Row | undefined>;
  all(...values: Values): MaybePromise<Row[]>;
  /** For writes: there is nothing to await, and one that fails makes its group fail. A count is asked for with RETURNING. */
  run(...values: Values): void;
  /** Rows become the values of their first column. */
  pluck(): this;
  /** Rows become arrays of values. */
  raw(): this;
}

/** A connection as repositories see it. */
export interface StatementConnection {
  /** Its engine's spelling of what the engines spell differently. */
  readonly dialect: Dialect;
  /** Prepares a text with `?` or `@name` for its values. */
  prepare<Values extends readonly unknown[] = [], Row = unknown>(text: string): RawStatement<Values, Row>;
}
