import { sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** What the first writer of a store has settled for all that use it. */
export const settings = sqliteTable('settings', {
  name: text().primaryKey(),
  value: text().notNull(),
});
