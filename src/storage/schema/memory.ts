import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { ObjectType, Relation, Source, ViewMode, ViewNarrowing, ViewState } from '../../memory/object/object.js';
import { jsonText } from './json-text.js';

/** Objects, each with its newest version. A small payload is in the row; a larger one in `payloads`, once per hash. */
export const objects = sqliteTable(
  'objects',
  {
    id: text().primaryKey(),
    type: text().$type<ObjectType>().notNull(),
    namespace: text().notNull(),
    name: text(),
    title: text(),
    tags: jsonText<readonly string[]>(),
    version: integer().notNull(),
    hash: text().notNull(),
    payload: text(),
    tokens: integer().notNull().default(0),
    /** Whether the counter of the store has counted them. False in rows of earlier releases. */
    isCounted: integer('is_counted', { mode: 'boolean' }).notNull().default(false),
    sources: jsonText<readonly Source[]>(),
    immutable: integer({ mode: 'boolean' }).notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: integer('created_at').notNull(),
    /** The author and time of the newest version; null when that is the first. */
    updatedBy: text('updated_by'),
    updatedAt: integer('updated_at'),
    deletedAt: integer('deleted_at'),
  },
  (table) => [
    uniqueIndex('objects_name')
      .on(table.namespace, table.name)
      .where(sql`${table.name} IS NOT NULL AND ${table.deletedAt} IS NULL`),
    index('objects_stored').on(table.hash).where(sql`${table.payload} IS NULL`),
  ],
);

export const payloads = sqliteTable('payloads', { hash: text().primaryKey(), payload: text().notNull() });

/**
 * Earlier versions of an object in a branch: the version that was replaced when row `n` was written. Branch 0 is the
 * main line; the others are views that were written to. A view that was forked when the newest row was `n` sees the
 * first row after `n`, or the current version.
 */
export const objectVersions = sqliteTable(
  'object_versions',
  {
    /** Never reused, even when the last rows are deleted: snapshots refer to row numbers. */
    n: integer().primaryKey({ autoIncrement: true }),
    object: text().notNull(),
    branch: integer().notNull(),
    /** 0: the branch had no version of its own. */
    version: integer().notNull(),
    hash: text(),
    payload: text(),
    tokens: integer().notNull(),
    isCounted: integer('is_counted', { mode: 'boolean' }).notNull().default(false),
    sources: jsonText<readonly Source[]>(),
    madeBy: text('made_by').notNull(),
    madeAt: integer('made_at').notNull(),
  },
  (table) => [
    index('object_versions_branch').on(table.object, table.branch, table.n),
    index('object_versions_stored').on(table.hash).where(sql`${table.payload} IS NULL AND ${table.hash} IS NOT NULL`),
  ],
);

/** The newest version of an object that was written through a view, and not merged yet. */
export const overlays = sqliteTable(
  'overlays',
  {
    view: integer().notNull(),
    object: text().notNull(),
    version: integer().notNull(),
    hash: text().notNull(),
    payload: text(),
    tokens: integer().notNull(),
    isCounted: integer('is_counted', { mode: 'boolean' }).notNull().default(false),
    sources: jsonText<readonly Source[]>(),
    madeBy: text('made_by').notNull(),
    madeAt: integer('made_at').notNull(),
    /** The hash and the version that the first write of this view replaced. */
    baseHash: text('base_hash').notNull(),
    baseVersion: integer('base_version').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.view, table.object] }),
    index('overlays_stored').on(table.hash).where(sql`${table.payload} IS NULL`),
  ],
);

/** A view: a root object, and at most one base that it was forked from. */
export const views = sqliteTable('views', {
  n: integer().primaryKey(),
  pid: text().notNull(),
  mode: text().$type<ViewMode>().notNull(),
  root: text().notNull(),
  base: integer(),
  /** The newest rows of `view_entries` and `object_versions` at the fork; absent for a live base. */
  baseEntries: integer('base_entries'),
  baseVersions: integer('base_versions'),
  narrowing: jsonText<ViewNarrowing>(),
  /** Null for a view that is neither merged nor dropped. */
  state: text().$type<ViewState>(),
});

/** Additions to and removals from a view, in order: the last row of an object says whether it is in the view. */
export const viewEntries = sqliteTable(
  'view_entries',
  {
    n: integer().primaryKey(),
    view: integer().notNull(),
    object: text().notNull(),
    /**
     * The capability that the object was added under. Empty when it was removed, or restored to its state in the base.
     */
    capability: text().notNull(),
    rights: integer().notNull(),
    isThere: integer('is_there', { mode: 'boolean' }).notNull(),
  },
  (table) => [index('view_entries_object').on(table.view, table.object, table.n)],
);

export const links = sqliteTable(
  'links',
  {
    source: text().notNull(),
    relation: text().$type<Relation>().notNull(),
    target: text().notNull(),
    madeBy: text('made_by').notNull(),
    madeAt: integer('made_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.relation, table.target] }),
    index('links_target').on(table.target, table.relation),
  ],
);
