import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { JsonObject } from '../../base/json.js';
import type { EventType } from '../../events/event.js';
import { jsonText } from './json-text.js';

/** The event log. A row is written in the transaction of the change that it describes. */
export const events = sqliteTable(
  'events',
  {
    seq: integer().primaryKey(),
    type: text().$type<EventType>().notNull(),
    at: integer().notNull(),
    pid: text(),
    root: text(),
    node: text().notNull(),
    data: jsonText<JsonObject>().notNull(),
    /** The row number of the root under which the process of the event was born, which never changes. Null without a process. */
    bornIn: integer('born_in'),
  },
  (table) => [
    index('events_pid').on(table.pid, table.seq).where(sql`${table.pid} IS NOT NULL`),
    index('events_born_in').on(table.bornIn, table.seq).where(sql`${table.bornIn} IS NOT NULL`),
  ],
);
