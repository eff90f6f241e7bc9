import { strict as assert } from 'node:assert';
import type Database from 'better-sqlite3';
import { is, Param, Placeholder, type Query } from 'drizzle-orm';

/** A prepared statement that takes its values by name. */
export interface CompiledWrite {
  run(values: object): Database.RunResult;
}

/**
 * Compiles a write that drizzle has built. drizzle's own prepared queries look every parameter's class up at every run,
 * which costs as much as SQLite does; here that is done once.
 */
export function compiled(raw: Database.Database, query: { toSQL(): Query }): CompiledWrite {
  const { sql, params } = query.toSQL();
  const statement = raw.prepare(sql);
  const binders = params.map(toBinder);
  return {
    run: (given) => {
      const values = given as Readonly<Record<string, unknown>>;
      const bound: unknown[] = new Array(binders.length);
      for (let index = 0; index < binders.length; index++) bound[index] = binders[index]?.(values);
      return statement.run(bound);
    },
  };
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
