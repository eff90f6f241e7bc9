import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { JsonValue } from '../../base/json.js';
import type { ApprovalDecision, ApprovalScope } from '../../capability/approval/approval.js';
import type { Constraints } from '../../capability/constraint/atoms.js';
import type { CapabilitySpec, CapabilityStatus } from '../../capability/holding/capability.js';
import type { Right } from '../../capability/resource/rights.js';
import type { RuleEffect } from '../../capability/rule/rule.js';
import { jsonText } from './json-text.js';

/**
 * Capabilities. A capability is usable depending on its status, the state and generation of its holder, and the same of
 * its parents.
 */
export const capabilities = sqliteTable(
  'capabilities',
  {
    id: text().primaryKey(),
    holder: text().notNull(),
    /** The holder's generation when it got the capability; exec leaves those of earlier generations behind. */
    generation: integer().notNull(),
    /** True for the capability on the holder's own namespace, which exec keeps. */
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
    /** True while the status of the capabilities that were derived from a revoked one is still being set. */
    sweeping: integer({ mode: 'boolean' }),
    grantedBy: text('granted_by').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    index('capabilities_holder').on(table.holder, table.resource),
    index('capabilities_parent').on(table.parent, table.status).where(sql`${table.parent} IS NOT NULL`),
    /** Capabilities on objects and namespaces, but for those of processes on their own: who holds an object. */
    index('capabilities_memory')
      .on(table.resource)
      .where(sql`${table.own} = 0 AND ${table.resource} >= 'ns:' AND ${table.resource} < 'objecu'`),
    index('capabilities_sweeping').on(table.sweeping).where(sql`${table.sweeping} IS NOT NULL`),
  ],
);

/** Rules of the host that deny or ask, for one process and every process spawned under it, or for all. */
export const rules = sqliteTable(
  'rules',
  {
    id: text().primaryKey(),
    effect: text().$type<RuleEffect>().notNull(),
    /** A process, or `*`. */
    pid: text().notNull(),
    /** The row number of that process, which is in the path of every process spawned under it; 0 for all. */
    n: integer().notNull(),
    resource: text().notNull(),
    rights: integer().notNull(),
    argsHash: text('args_hash'),
    reason: text(),
    expiresAt: integer('expires_at'),
    /** How long a question that it raises waits for its answer. */
    expiresInMs: integer('expires_in_ms'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('rules_process').on(table.n)],
);

/** Approval requests. A pending one has no decision; `spent_at` is set when an answer is used up. */
export const approvals = sqliteTable(
  'approvals',
  {
    id: text().primaryKey(),
    pid: text().notNull(),
    /** The row number of that process, which is in the path of every process spawned under it. */
    n: integer().notNull(),
    generation: integer().notNull(),
    right: text().$type<Right>().notNull(),
    resource: text().notNull(),
    args: jsonText<JsonValue>(),
    argsHash: text('args_hash').notNull(),
    /** The capability that would be used; null when only the approval is needed. */
    capability: text(),
    chain: jsonText<string[]>().notNull(),
    lineage: jsonText<string[]>().notNull(),
    rules: jsonText<string[]>().notNull(),
    /** The capability that was requested; null for an approval of a use. */
    spec: jsonText<CapabilitySpec>(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at'),
    decision: text().$type<ApprovalDecision>(),
    scope: text().$type<ApprovalScope>(),
    answeredBy: text('answered_by'),
    answeredAt: integer('answered_at'),
    /** The capability that an approved request has granted. */
    granted: text(),
    spentAt: integer('spent_at'),
    /** When the call is denied, if nobody has answered. */
    deniedAt: integer('denied_at'),
    /** Whether an answer may carry other arguments. */
    isEditable: integer('is_editable', { mode: 'boolean' }).notNull().default(false),
    /** The arguments of an answer that has edited them, and their hash. */
    editedArgs: jsonText<JsonValue>('edited_args'),
    editedHash: text('edited_hash'),
  },
  (table) => [
    index('approvals_open').on(table.n).where(sql`${table.spentAt} IS NULL`),
    index('approvals_pending').on(table.id).where(sql`${table.decision} IS NULL`),
  ],
);
