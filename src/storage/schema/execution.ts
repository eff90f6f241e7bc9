import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { JsonValue } from '../../base/json.js';
import type { MessageHandle } from '../../kernel/message/message-repository.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import type { EntryStatus } from '../../kernel/process/run-entry-repository.js';
import { jsonText } from './json-text.js';

/** What the calls of a run have answered: a body that is run again gets it from here. */
export const runEntries = sqliteTable(
  'run_entries',
  {
    process: integer().notNull(),
    key: text().notNull(),
    /** Counts the answers of a process in the order of their commits; 0 while there is none. */
    seq: integer().notNull(),
    status: text().$type<EntryStatus>().notNull(),
    value: jsonText<JsonValue>(),
    attempt: integer().notNull(),
    dueAt: integer('due_at'),
    /** The fence of the run that wrote it. */
    fence: integer().notNull(),
    at: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.process, table.key] })],
);

/** The kernels that run processes. Each has one lease, whatever it runs. */
export const nodes = sqliteTable('nodes', {
  id: text().primaryKey(),
  name: text(),
  epoch: integer().notNull(),
  expiresAt: integer('expires_at').notNull(),
  host: jsonText<HostIdentity>().notNull(),
  startedAt: integer('started_at').notNull(),
  endedAt: integer('ended_at'),
});

/** What was sent and not received yet. */
export const messages = sqliteTable(
  'messages',
  {
    n: integer().primaryKey(),
    id: text().notNull(),
    to: text('to_pid').notNull(),
    from: text('from_pid').notNull(),
    at: integer().notNull(),
    kind: text().notNull(),
    body: jsonText<JsonValue>(),
    /** Objects that stand in the body: where, and by which capability the receiver reads them. */
    handles: jsonText<readonly MessageHandle[]>(),
  },
  (table) => [index('messages_to').on(table.to, table.n)],
);
