import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { Adopted } from '../../kernel/command/command-repository.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import type { AuditAction } from '../../unit/actions.js';
import { jsonText } from './json-text.js';

/** External effects that are under way: the row is deleted when the outcome is recorded. */
export const effects = sqliteTable(
  'effects',
  {
    id: text().primaryKey(),
    pid: text().notNull(),
    generation: integer().notNull(),
    action: text().$type<AuditAction>().notNull(),
    resource: text().notNull(),
    capability: text().notNull(),
    approval: text(),
    reservation: text().notNull(),
    node: text().notNull(),
    at: integer().notNull(),
    /** The id of the audit record of the intent. Null in rows of earlier releases. */
    intent: text(),
  },
  (table) => [index('effects_node').on(table.node)],
);

/** OS subprocesses; `process` is their row number in the process table. */
export const commands = sqliteTable('commands', {
  process: integer().primaryKey(),
  token: text().notNull(),
  line: text().notNull(),
  resource: text().notNull(),
  capability: text().notNull(),
  approval: text(),
  /** The hash of the arguments that were decided on: only these are run. Null in rows of earlier releases. */
  argsHash: text('args_hash'),
  background: integer({ mode: 'boolean' }).notNull(),
  survive: integer({ mode: 'boolean' }).notNull(),
  leader: jsonText<HostIdentity>(),
  /** Of an OS process that the kernel has not started itself. */
  adopted: jsonText<Adopted>(),
  outputBytes: integer('output_bytes').notNull(),
  /** The id of the audit record of the intent; null until a node has taken it, and in rows of earlier releases. */
  intent: text(),
});
