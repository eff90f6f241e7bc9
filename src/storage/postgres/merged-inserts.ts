import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import * as tables from '../schema/tables.js';
import type { BatchItem, PreparedText } from './batch.js';
import { toParameter } from './values.js';

/** An INSERT of one row whose values are all parameters, and the statement that inserts any number of such rows. */
interface InsertShape {
  /** Takes an array for each column. */
  readonly mergedText: string;
}

/** Fewer rows are faster one by one. */
const rowsMin = 3;
/** A statement does not grow beyond this. */
const rowsMax = 256;
const charactersMax = 4 * 2 ** 20;

const singleRow = /^insert into "(\w+)" \(([^()]+)\) values \(([^()]+)\)$/i;
const shapes = new Map<string, InsertShape | undefined>();

/**
 * Rows that are inserted into a table one after another become one statement with an array for each column: the server starts
 * one statement instead of many. Only statements whose answers nobody awaits are merged.
 */
export function mergeInserts(items: readonly BatchItem[], prepare: (text: string) => PreparedText): BatchItem[] {
  const merged: BatchItem[] = [];
  for (let from = 0; from < items.length; ) {
    const to = endOfRun(items, from);
    const run = items.slice(from, to);
    const shape = run.length < rowsMin ? undefined : shapeOf(items[from] as BatchItem);
    if (shape === undefined) merged.push(...run);
    else merged.push(mergedItem(run, prepare(shape.mergedText)));
    from = to;
  }
  return merged;
}

/** Where the items end that have the statement of the first one and may be merged with it. */
function endOfRun(items: readonly BatchItem[], from: number): number {
  const { statement, isAwaited, values } = items[from] as BatchItem;
  let characters = lengthOf(values);
  let to = from + 1;
  for (; to < items.length && to - from < rowsMax && !isAwaited; to++) {
    const next = items[to] as BatchItem;
    if (next.statement.text !== statement.text || next.isAwaited) break;
    characters += lengthOf(next.values);
    if (characters > charactersMax) break;
  }
  return to;
}

function lengthOf(values: readonly unknown[]): number {
  let length = 0;
  for (const value of values) if (typeof value === 'string' || Buffer.isBuffer(value)) length += value.length;
  return length;
}

function mergedItem(run: readonly BatchItem[], statement: PreparedText): BatchItem {
  const width = (run[0] as BatchItem).values.length;
  const values = Array.from({ length: width }, (_, column) => toArrayLiteral(run, column));
  return {
    statement,
    values,
    isAwaited: false,
    resolve: () => undefined,
    reject: (error) => {
      for (const item of run) item.reject(error);
    },
  };
}

/** The values of one column as the text of an array. */
function toArrayLiteral(rows: readonly BatchItem[], column: number): string {
  let text = '{';
  for (const [index, { values }] of rows.entries()) {
    if (index > 0) text += ',';
    const value = values[column];
    text += typeof value === 'number' ? value : toElement(toParameter(value));
  }
  return `${text}}`;
}

function toElement(value: string | Buffer | null): string {
  if (value === null) return 'NULL';
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString('hex')}"`;
  return `"${/["\\]/.test(value) ? value.replace(/["\\]/g, '\\$&') : value}"`;
}

function shapeOf({ statement: { text } }: BatchItem): InsertShape | undefined {
  if (!shapes.has(text)) shapes.set(text, parseInsert(text));
  return shapes.get(text);
}

function parseInsert(text: string): InsertShape | undefined {
  const [, table = '', columnList = '', values = ''] = singleRow.exec(text) ?? [];
  const columns = columnList.split(', ').map((column) => column.replaceAll('"', ''));
  if (values !== columns.map((_, index) => `$${index + 1}`).join(', ')) return undefined;
  const types = columnTypes().get(table);
  if (types === undefined) return undefined;
  const arrays = columns.map((column, index) => `$${index + 1}::${types.get(column)}[]`).join(', ');
  return { mergedText: `INSERT INTO "${table}" (${columnList}) SELECT * FROM unnest(${arrays})` };
}

let knownTypes: ReadonlyMap<string, ReadonlyMap<string, string>> | undefined;

/** The types of the columns of each table, as PostgreSQL names them. */
function columnTypes(): ReadonlyMap<string, ReadonlyMap<string, string>> {
  knownTypes ??= new Map(
    Object.values(tables as Record<string, unknown>)
      .filter((table): table is SQLiteTable => typeof table === 'object')
      .map((table) => {
        const { name, columns } = getTableConfig(table);
        return [name, new Map(columns.map((column) => [column.name, typeOf(column.getSQLType())]))];
      }),
  );
  return knownTypes;
}

function typeOf(sqliteType: string): string {
  if (sqliteType === 'integer') return 'bigint';
  return sqliteType === 'blob' ? 'bytea' : 'text';
}
