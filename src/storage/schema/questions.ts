import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { jsonText } from './json-text.js';

/** Questions of processes to people. One without `answered_at` has no answer. */
export const questions = sqliteTable(
  'questions',
  {
    id: text().primaryKey(),
    pid: text().notNull(),
    /** The row number of that process. */
    process: integer().notNull(),
    generation: integer().notNull(),
    /** By which the same call finds its question again. */
    key: text(),
    question: text().notNull(),
    schema: jsonText<JsonObject>(),
    choices: jsonText<readonly JsonValue[]>(),
    lineage: jsonText<string[]>().notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at'),
    closedAt: integer('closed_at'),
    answer: jsonText<JsonValue>(),
    answeredBy: text('answered_by'),
    answeredAt: integer('answered_at'),
  },
  (table) => [
    index('questions_process').on(table.process),
    index('questions_open').on(table.id).where(sql`${table.answeredAt} IS NULL AND ${table.closedAt} IS NULL`),
  ],
);
