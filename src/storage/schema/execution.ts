import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { MessageHandle } from '../../kernel/message/message-repository.js';
import type { HostIdentity, NodeOffers } from '../../kernel/node/node-repository.js';
import type { EntryStatus } from '../../kernel/process/run-entry-repository.js';
import { jsonText } from './json-text.js';

/** The replay journal of a run: results of its calls, which a body that runs again gets instead of calling. */
export const runEntries = sqliteTable(
  'run_entries',
  {
    process: integer().notNull(),
    key: text().notNull(),
    /** The position of the result among those of the process, in the order of their commits; 0 while there is none. */
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

/** The nodes: kernels that run processes. Each has one lease. */
export const nodes = sqliteTable('nodes', {
  id: text().primaryKey(),
  name: text(),
  epoch: integer().notNull(),
  expiresAt: integer('expires_at').notNull(),
  /** Null in rows of earlier releases. */
  leaseMs: integer('lease_ms'),
  renewals: integer().notNull().default(0),
  /** Its images, tools and queues. Null in rows of earlier releases. */
  offers: jsonText<NodeOffers>(),
  host: jsonText<HostIdentity>().notNull(),
  startedAt: integer('started_at').notNull(),
  endedAt: integer('ended_at'),
});

/** Messages that were sent and not received yet. */
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
    /** The positions of object handles in the body, and the capabilities by which the receiver reads the objects. */
    handles: jsonText<readonly MessageHandle[]>(),
  },
  (table) => [index('messages_to').on(table.to, table.n)],
);

/** The lines that a body has logged, the newest of each process. */
export const processLogs = sqliteTable(
  'process_logs',
  {
    process: integer().notNull(),
    seq: integer().notNull(),
    at: integer().notNull(),
    text: text().notNull(),
    facts: jsonText<JsonObject>(),
  },
  (table) => [primaryKey({ columns: [table.process, table.seq] })],
);
