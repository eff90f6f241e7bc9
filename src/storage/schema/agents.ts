import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { jsonText } from './json-text.js';

/** The turns of agents, as groups of parts in the order of their commits. */
export const agentTurns = sqliteTable(
  'agent_turns',
  {
    process: integer().notNull(),
    seq: integer().notNull(),
    /** The number of the turn that the parts belong to. */
    turn: integer().notNull(),
    at: integer().notNull(),
    parts: jsonText<readonly JsonObject[]>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.process, table.seq] })],
);

/** Messages of people to conversations. One without `answered_at` has no reply. */
export const agentMessages = sqliteTable(
  'agent_messages',
  {
    process: integer().notNull(),
    /** As the sender gave it, or the id of the message. */
    id: text().notNull(),
    /** The id of the message in the mailbox. */
    message: text().notNull(),
    textHash: text('text_hash').notNull(),
    at: integer().notNull(),
    reply: jsonText<JsonValue>(),
    answeredAt: integer('answered_at'),
  },
  (table) => [
    primaryKey({ columns: [table.process, table.id] }),
    index('agent_messages_open').on(table.process).where(sql`${table.answeredAt} IS NULL`),
  ],
);
