import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { Constraints } from '../../../capability/atoms.js';
import type { CapabilityStatus } from '../../../capability/capability.js';
import type { RuleEffect } from '../../../capability/rule.js';
import { jsonText } from './json-text.js';

/** Capabilities. Whether one works is its status, its holder's state and generation, and the same of its parents. */
export const capabilities = sqliteTable(
  'capabilities',
  {
    id: text().primaryKey(),
    holder: text().notNull(),
    /** The holder's generation when it got it; exec leaves those of earlier generations behind. */
    generation: integer().notNull(),
    /** The one on the holder's own namespace, which exec never takes. */
    own: integer({ mode: 'boolean' }).notNull(),
    resource: text().notNull(),
    rights: integer().notNull(),
    grantable: integer().notNull(),
    constraints: jsonText<Constraints>(),
    uses: integer(),
    expiresAt: integer('expires_at'),
    maxDepth: integer('max_depth').notNull(),
    parent: text(),
    depth: integer().notNull(),
    status: text().$type<CapabilityStatus>().notNull(),
    /** It was revoked, and not every one below it has the status yet. */
    sweeping: integer({ mode: 'boolean' }),
    grantedBy: text('granted_by').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    index('capabilities_holder').on(table.holder, table.resource),
    index('capabilities_parent').on(table.parent, table.status).where(sql`${table.parent} IS NOT NULL`),
    index('capabilities_sweeping').on(table.sweeping).where(sql`${table.sweeping} IS NOT NULL`),
  ],
);

/** What the host forbids, to one process and everything born under it, or to all. */
export const rules = sqliteTable(
  'rules',
  {
    id: text().primaryKey(),
    effect: text().$type<RuleEffect>().notNull(),
    /** A process, or `*`. */
    pid: text().notNull(),
    /** The number of that process, which is in the path of everything born under it; 0 for all. */
    n: integer().notNull(),
    resource: text().notNull(),
    rights: integer().notNull(),
    reason: text(),
    expiresAt: integer('expires_at'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('rules_process').on(table.n)],
);
