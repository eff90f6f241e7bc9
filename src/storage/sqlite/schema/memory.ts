import { sql } from 'drizzle-orm';
import { integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { ObjectType, ViewMode, ViewNarrowing } from '../../../memory/object.js';
import { jsonText } from './json-text.js';

/** Objects. A small payload stands in the row; a larger one in `payloads`, once per content hash. */
export const objects = sqliteTable(
  'objects',
  {
    id: text().primaryKey(),
    type: text().$type<ObjectType>().notNull(),
    namespace: text().notNull(),
    name: text(),
    version: integer().notNull(),
    hash: text().notNull(),
    payload: text(),
    immutable: integer({ mode: 'boolean' }).notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [uniqueIndex('objects_name').on(table.namespace, table.name).where(sql`${table.name} IS NOT NULL`)],
);

export const payloads = sqliteTable('payloads', { hash: text().primaryKey(), payload: text().notNull() });

/** A view: a root object, and at most one base that it was forked from. */
export const views = sqliteTable('views', {
  n: integer().primaryKey(),
  pid: text().notNull(),
  mode: text().$type<ViewMode>().notNull(),
  root: text().notNull(),
  base: integer(),
  /** The last event before the fork; absent for a live base. */
  baseSeq: integer('base_seq'),
  narrowing: jsonText<ViewNarrowing>(),
});
