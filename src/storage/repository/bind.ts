import { type Column, getTableColumns, type Placeholder, type SQL, sql, type Table } from 'drizzle-orm';

/** A placeholder for every column of `table`, named for it: what `values()` of a prepared insert takes. */
export function everyColumn<T extends Table>(table: T): Record<keyof T['_']['columns'] & string, Placeholder> {
  return Object.fromEntries(Object.keys(getTableColumns(table)).map((name) => [name, sql.placeholder(name)])) as Record<
    keyof T['_']['columns'] & string,
    Placeholder
  >;
}

/** The same without the number `n`, which SQLite gives. */
export function everyColumnButNumber<T extends Table & { n: Column }>(
  table: T,
): Omit<Record<keyof T['_']['columns'] & string, Placeholder>, 'n'> {
  const { n: _n, ...rest } = everyColumn(table) as Record<keyof T['_']['columns'] & string, Placeholder> & {
    n: Placeholder;
  };
  return rest;
}

/** Placeholders for the named columns, encoded as the columns are: what `set()` of a prepared update takes. */
export function assigned<T extends Table, Name extends keyof T['_']['columns'] & string>(
  table: T,
  names: readonly Name[],
): Record<Name, SQL> {
  const columns = getTableColumns(table) as Record<string, Column>;
  return Object.fromEntries(
    names.map((name) => [name, sql`${sql.param(sql.placeholder(name), columns[name] as Column)}`]),
  ) as Record<Name, SQL>;
}
