import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { Usage } from '../../kernel/budget/budget.js';
import { jsonText } from './json-text.js';

/**
 * Limits and usage of one process; `n` is its row number in the process table. May change after the process has ended.
 */
export const accounts = sqliteTable('accounts', {
  n: integer().primaryKey(),
  toolCallsLimit: integer('tool_calls_limit'),
  toolCallsUsed: integer('tool_calls_used').notNull().default(0),
  toolCallsReserved: integer('tool_calls_reserved').notNull().default(0),
  tokensLimit: integer('tokens_limit'),
  tokensUsed: integer('tokens_used').notNull().default(0),
  tokensReserved: integer('tokens_reserved').notNull().default(0),
  costMicrosLimit: integer('cost_micros_limit'),
  costMicrosUsed: integer('cost_micros_used').notNull().default(0),
  costMicrosReserved: integer('cost_micros_reserved').notNull().default(0),
  materializedTokensLimit: integer('materialized_tokens_limit'),
  materializedTokensUsed: integer('materialized_tokens_used').notNull().default(0),
  materializedTokensReserved: integer('materialized_tokens_reserved').notNull().default(0),
  outputBytesLimit: integer('output_bytes_limit'),
  outputBytesUsed: integer('output_bytes_used').notNull().default(0),
  outputBytesReserved: integer('output_bytes_reserved').notNull().default(0),
  storedBytesLimit: integer('stored_bytes_limit'),
  storedBytesUsed: integer('stored_bytes_used').notNull().default(0),
  storedBytesReserved: integer('stored_bytes_reserved').notNull().default(0),
  childrenLimit: integer('children_limit'),
  /** Live descendants, at any depth. */
  childrenUsed: integer('children_used').notNull().default(0),
  depthLimit: integer('depth_limit'),
  wallMsLimit: integer('wall_ms_limit'),
  /** Processes spawned directly by this one whose rows are still in the table. */
  born: integer().notNull().default(0),
});

export const reservations = sqliteTable(
  'reservations',
  {
    id: text().primaryKey(),
    pid: text().notNull(),
    usage: jsonText<Usage>().notNull(),
    at: integer().notNull(),
    /** The effect that it is for is under way: when its process ends, it is charged. */
    underway: integer({ mode: 'boolean' }).notNull().default(false),
  },
  (table) => [index('reservations_pid').on(table.pid)],
);
