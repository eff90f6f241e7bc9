import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { JsonObject } from '../../base/json.js';
import type { EventType } from '../../events/event.js';
import { jsonText } from './json-text.js';

/** The event log. A row is written in the transaction of the change that it describes. */
export const events = sqliteTable('events', {
  seq: integer().primaryKey(),
  type: text().$type<EventType>().notNull(),
  at: integer().notNull(),
  pid: text(),
  root: text(),
  node: text().notNull(),
  data: jsonText<JsonObject>().notNull(),
});
