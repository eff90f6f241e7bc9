import { sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { type Dialect, sqliteDialect } from '../statements/dialect.js';

/** One row: the id of the log, which is part of every header. */
export const auditLog = sqliteTable('audit_log', {
  id: text('id').primaryKey(),
});

/** The target of a record that tells the status of a process, NULL of others. */
export const statusTarget = ({ memberOfBody }: Dialect) =>
  sql`(CASE WHEN ${memberOfBody('after')} IS NOT NULL THEN ${memberOfBody('target')} END)`;
/** Records that tell what became of a capability after its grant. */
export const isChangeRecord = ({ memberOfBody }: Dialect) =>
  sql`${memberOfBody('action')} IN ('capability.transfer', 'capability.revoke', 'capability.spend')`;

/** Records about something. */
export const hasTarget = ({ memberOfBody }: Dialect) => sql`${memberOfBody('target')} IS NOT NULL`;

export const auditRecords = sqliteTable(
  'audit_records',
  {
    seq: integer('seq').primaryKey(),
    header: text('header').notNull(),
    hash: text('hash').notNull(),
    body: text('body').notNull(),
    subject: text('subject'),
  },
  (table) => [
    index('audit_records_subject').on(table.subject, table.seq).where(sql`${table.subject} IS NOT NULL`),
    index('audit_records_actor').on(sqliteDialect.memberOfBody('actor'), table.seq),
    index('audit_records_target').on(sqliteDialect.memberOfBody('target'), table.seq).where(hasTarget(sqliteDialect)),
    index('audit_records_status')
      .on(statusTarget(sqliteDialect), table.seq)
      .where(sql`${statusTarget(sqliteDialect)} IS NOT NULL`),
    index('audit_records_change')
      .on(sqliteDialect.memberOfBody('capability'), table.seq)
      .where(isChangeRecord(sqliteDialect)),
  ],
);

/** The part of a record that can be erased: the row is deleted, the commitment in the body stays. */
export const auditPayloads = sqliteTable('audit_payloads', {
  seq: integer('seq').primaryKey(),
  salt: blob('salt', { mode: 'buffer' }).notNull(),
  bytes: text('bytes').notNull(),
});

/** Completed subtrees of the Merkle tree, at levels 8, 16 and 24. */
export const auditNodes = sqliteTable(
  'audit_nodes',
  {
    level: integer('level').notNull(),
    index: integer('index').notNull(),
    hash: text('hash').notNull(),
  },
  (table) => [primaryKey({ columns: [table.level, table.index] })],
);

export const auditCheckpoints = sqliteTable(
  'audit_checkpoints',
  {
    size: integer('size').notNull(),
    key: text('key').notNull(),
    log: text('log').notNull(),
    root: text('root').notNull(),
    at: integer('at').notNull(),
    replaced: integer('replaced', { mode: 'boolean' }).notNull(),
    signature: text('signature').notNull(),
  },
  (table) => [primaryKey({ columns: [table.size, table.key] })],
);

/** Public keys; the id is the SHA-256 of the key, so that a changed key is detected. */
export const auditKeys = sqliteTable('audit_keys', {
  id: text('id').primaryKey(),
  publicKey: text('public_key').notNull(),
});
