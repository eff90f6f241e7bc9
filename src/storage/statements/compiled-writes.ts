import { strict as assert } from 'node:assert';
import {
  type Column,
  getTableColumns,
  is,
  Param,
  Placeholder,
  type Query,
  type SQL,
  sql,
  type Table,
} from 'drizzle-orm';
import type { StatementConnection } from './statement-connection.js';

/** A prepared statement that takes its values by name. */
export interface CompiledWrite {
  run(values: object): void;
}

/**
 * Compiles an insert, update or delete that drizzle has built. drizzle's own prepared queries look up the class of
 * every parameter at every run, which costs as much as SQLite does; here that is done once.
 */
export function compileWrite(connection: StatementConnection, query: { toSQL(): Query }): CompiledWrite {
  const { sql: text, params } = query.toSQL();
  const statement = connection.prepare<[unknown[]]>(text);
  const binders = params.map(toBinder);
  return {
    run: (input) => {
      const values = input as Readonly<Record<string, unknown>>;
      const bound: unknown[] = new Array(binders.length);
      for (let index = 0; index < binders.length; index++) bound[index] = binders[index]?.(values);
      statement.run(bound);
    },
  };
}

/** A placeholder for every column of `table`, under the name of the column, for `values()` of an insert. */
export function allColumns<T extends Table>(table: T): Record<keyof T['_']['columns'] & string, Placeholder> {
  return Object.fromEntries(Object.keys(getTableColumns(table)).map((name) => [name, sql.placeholder(name)])) as Record<
    keyof T['_']['columns'] & string,
    Placeholder
  >;
}

/** Placeholders for the named columns, encoded as the columns are, for `set()` of an update. */
export function updateColumns<T extends Table, Name extends keyof T['_']['columns'] & string>(
  table: T,
  names: readonly Name[],
): Record<Name, SQL> {
  const columns = getTableColumns(table) as Record<string, Column>;
  return Object.fromEntries(
    names.map((name) => [name, sql`${sql.param(sql.placeholder(name), columns[name] as Column)}`]),
  ) as Record<Name, SQL>;
}

type Binder = (values: Readonly<Record<string, unknown>>) => unknown;

function toBinder(param: unknown): Binder {
  if (is(param, Placeholder)) return byName(param.name);
  if (!is(param, Param)) return () => param;
  if (!is(param.value, Placeholder)) {
    const constant = param.encoder.mapToDriverValue(param.value);
    return () => constant;
  }
  const { name } = param.value;
  const { encoder } = param;
  return (values) => {
    const value = values[name];
    assert(value !== undefined, `no value for ${name}`);
    return value === null ? null : encoder.mapToDriverValue(value);
  };
}

function byName(name: string): Binder {
  return (values) => {
    const value = values[name];
    assert(value !== undefined, `no value for ${name}`);
    return value;
  };
}
