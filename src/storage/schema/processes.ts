import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { Environment } from '../../kernel/command/command.js';
import type {
  OnBudget,
  OnParentExit,
  Outcome,
  OwnerKeys,
  ProcessKind,
  ProcessStatus,
  Progress,
  RecoveryDisposition,
  StoredStop,
  WaitState,
} from '../../kernel/process/process.js';
import { jsonText } from './json-text.js';

/** The process table. Each index costs a page per spawn. */
export const processes = sqliteTable(
  'processes',
  {
    n: integer().primaryKey(),
    pid: text().notNull(),
    parent: text(),
    bornUnder: text('born_under'),
    path: jsonText<readonly number[]>().notNull(),
    root: text().notNull(),
    depth: integer().notNull(),
    kind: text().$type<ProcessKind>().notNull(),
    status: text().$type<ProcessStatus>().notNull(),
    previous: text().$type<ProcessStatus>(),
    /** Of a paused process: `host`, or the process that paused it. */
    pausedBy: text('paused_by').$type<Pid | 'host'>(),
    image: text().notNull(),
    name: text(),
    /** As given in the spec; with the process it was spawned under it is the key of its registration. */
    id: text('spawn_id'),
    /** Null: `default`. */
    queue: text(),
    externalRef: text('external_ref'),
    labels: jsonText<Record<string, string>>(),
    owner: jsonText<OwnerKeys>(),
    cwd: text().notNull(),
    goal: text().notNull(),
    view: integer().notNull(),
    args: jsonText<JsonValue>(),
    env: text(),
    generation: integer().notNull(),
    authoritySince: integer('authority_since').notNull(),
    attempt: integer().notNull(),
    recoveries: integer().notNull().default(0),
    version: integer().notNull(),
    fence: integer().notNull(),
    node: text(),
    wait: jsonText<WaitState>(),
    stop: jsonText<StoredStop>(),
    outcome: jsonText<Outcome>(),
    message: text(),
    result: text(),
    onParentExit: text('on_parent_exit').$type<OnParentExit>().notNull(),
    onBudget: text('on_budget').$type<OnBudget>().notNull(),
    recovery: text().$type<RecoveryDisposition>().notNull(),
    retry: jsonText<JsonObject>(),
    /** True where a stop waits for the answer of the worker outside. */
    acknowledgesStop: integer('acknowledges_stop', { mode: 'boolean' }),
    /** The builds of its image that could not replay its journal. */
    failedBuilds: jsonText<readonly string[]>('failed_builds'),
    progress: jsonText<Progress>(),
    createdAt: integer('created_at').notNull(),
    startedAt: integer('started_at'),
    updatedAt: integer('updated_at').notNull(),
    exitedAt: integer('exited_at'),
    /** The order of processes that ended in the same millisecond. */
    exitOrder: integer('exit_order'),
    /** As given in the spec; the deadline is the earliest of it, the time limit and the parent's deadline. */
    deadlineMs: integer('deadline_ms'),
    deadlineAt: integer('deadline_at'),
    /** The next time at which a timer acts on this row: its deadline, or the end of its grace period. */
    alarmAt: integer('alarm_at'),
  },
  (table) => [
    uniqueIndex('processes_pid').on(table.pid),
    index('processes_parent').on(table.parent, table.n),
    index('processes_root').on(table.root, table.n),
    index('processes_live').on(table.status, table.n).where(sql`${table.exitedAt} IS NULL`),
    index('processes_node').on(table.node, table.status).where(sql`${table.node} IS NOT NULL`),
    index('processes_external_ref').on(table.externalRef, table.n).where(sql`${table.externalRef} IS NOT NULL`),
    index('processes_alarm').on(table.alarmAt).where(sql`${table.alarmAt} IS NOT NULL`),
  ],
);

/** Labels and owner keys, repeated here for filters and scopes. */
export const processTags = sqliteTable(
  'process_tags',
  {
    space: text().$type<'label' | 'owner'>().notNull(),
    key: text().notNull(),
    value: text().notNull(),
    n: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.space, table.key, table.value, table.n] })],
);

/** Spawns with an id, which makes them idempotent. `parent` is empty for roots. */
export const registrations = sqliteTable(
  'registrations',
  {
    parent: text().notNull(),
    id: text().notNull(),
    pid: text().notNull(),
    hash: text().notNull(),
    /** The hash of each member of the spec, by its name. Null in rows of earlier releases. */
    members: jsonText<Readonly<Record<string, string>>>(),
  },
  (table) => [primaryKey({ columns: [table.parent, table.id] })],
);

export const environments = sqliteTable('environments', {
  hash: text().primaryKey(),
  variables: jsonText<Environment>().notNull(),
});

/** Processes whose result a wait of their parent has returned. */
export const reaped = sqliteTable('reaped', { n: integer().primaryKey() });

/** User signals in the order of their ordinals. Those that were received stay, so that ordinals go on. */
export const userSignals = sqliteTable(
  'user_signals',
  {
    pid: text().notNull(),
    name: text().notNull(),
    ordinal: integer().notNull(),
    at: integer().notNull(),
    payload: jsonText<JsonValue>(),
    taken: integer({ mode: 'boolean' }).notNull().default(false),
    /** The id of the audit record by which it was sent. Null in rows of earlier releases. */
    record: text(),
  },
  (table) => [primaryKey({ columns: [table.pid, table.name, table.ordinal] })],
);

/** The reports of signals that had an id, which makes them idempotent. */
export const signalReceipts = sqliteTable('signal_receipts', {
  id: text().primaryKey(),
  hash: text().notNull(),
  report: jsonText<JsonObject>().notNull(),
});
