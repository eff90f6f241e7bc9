import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { JsonValue } from '../../base/json.js';
import type { ApprovalDecision, ApprovalScope } from '../../capability/approval/approval.js';
import type { Constraints } from '../../capability/constraint/atoms.js';
import type { CapabilitySpec, CapabilityStatus } from '../../capability/holding/capability.js';
import type { Right } from '../../capability/resource/rights.js';
import type { RuleEffect } from '../../capability/rule/rule.js';
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

/** What the host forbids or wants to be asked about, of one process and everything born under it, or to all. */
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
    argsHash: text('args_hash'),
    reason: text(),
    expiresAt: integer('expires_at'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('rules_process').on(table.n)],
);

/** What a person was asked. A pending one has no decision; `spent_at` says when an answer was used up. */
export const approvals = sqliteTable(
  'approvals',
  {
    id: text().primaryKey(),
    pid: text().notNull(),
    /** The number of that process, which is in the path of everything born under it. */
    n: integer().notNull(),
    generation: integer().notNull(),
    right: text().$type<Right>().notNull(),
    resource: text().notNull(),
    args: jsonText<JsonValue>(),
    argsHash: text('args_hash').notNull(),
    /** By which it would be done; null where nothing is needed but the answer. */
    capability: text(),
    chain: jsonText<string[]>().notNull(),
    lineage: jsonText<string[]>().notNull(),
    rules: jsonText<string[]>().notNull(),
    /** What was requested; null for the use of something. */
    spec: jsonText<CapabilitySpec>(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at'),
    decision: text().$type<ApprovalDecision>(),
    scope: text().$type<ApprovalScope>(),
    answeredBy: text('answered_by'),
    answeredAt: integer('answered_at'),
    /** What an approved request has given. */
    granted: text(),
    spentAt: integer('spent_at'),
  },
  (table) => [
    index('approvals_open').on(table.n).where(sql`${table.spentAt} IS NULL`),
    index('approvals_pending').on(table.id).where(sql`${table.decision} IS NULL`),
  ],
);
