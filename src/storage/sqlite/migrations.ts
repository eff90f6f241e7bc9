// Generated from migrations/sqlite by scripts/generate-code.ts.

import type { Migration } from '../files/migration.js';

/** All migrations in order: a database of schema n has had the first n of them. */
export const migrations: readonly Migration[] = [
  {
    name: '0000_initial',
    sql: `CREATE TABLE \`accounts\` (
	\`n\` integer PRIMARY KEY NOT NULL,
	\`tool_calls_limit\` integer,
	\`tool_calls_used\` integer DEFAULT 0 NOT NULL,
	\`tool_calls_reserved\` integer DEFAULT 0 NOT NULL,
	\`tokens_limit\` integer,
	\`tokens_used\` integer DEFAULT 0 NOT NULL,
	\`tokens_reserved\` integer DEFAULT 0 NOT NULL,
	\`cost_micros_limit\` integer,
	\`cost_micros_used\` integer DEFAULT 0 NOT NULL,
	\`cost_micros_reserved\` integer DEFAULT 0 NOT NULL,
	\`materialized_tokens_limit\` integer,
	\`materialized_tokens_used\` integer DEFAULT 0 NOT NULL,
	\`materialized_tokens_reserved\` integer DEFAULT 0 NOT NULL,
	\`output_bytes_limit\` integer,
	\`output_bytes_used\` integer DEFAULT 0 NOT NULL,
	\`output_bytes_reserved\` integer DEFAULT 0 NOT NULL,
	\`children_limit\` integer,
	\`children_used\` integer DEFAULT 0 NOT NULL,
	\`depth_limit\` integer,
	\`wall_ms_limit\` integer,
	\`born\` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE \`reservations\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`pid\` text NOT NULL,
	\`usage\` text NOT NULL,
	\`at\` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX \`reservations_pid\` ON \`reservations\` (\`pid\`);--> statement-breakpoint
CREATE TABLE \`audit_checkpoints\` (
	\`size\` integer NOT NULL,
	\`key\` text NOT NULL,
	\`log\` text NOT NULL,
	\`root\` text NOT NULL,
	\`at\` integer NOT NULL,
	\`replaced\` integer NOT NULL,
	\`signature\` text NOT NULL,
	PRIMARY KEY(\`size\`, \`key\`)
);
--> statement-breakpoint
CREATE TABLE \`audit_keys\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`public_key\` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE \`audit_log\` (
	\`id\` text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE \`audit_nodes\` (
	\`level\` integer NOT NULL,
	\`index\` integer NOT NULL,
	\`hash\` text NOT NULL,
	PRIMARY KEY(\`level\`, \`index\`)
);
--> statement-breakpoint
CREATE TABLE \`audit_payloads\` (
	\`seq\` integer PRIMARY KEY NOT NULL,
	\`salt\` blob NOT NULL,
	\`bytes\` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE \`audit_records\` (
	\`seq\` integer PRIMARY KEY NOT NULL,
	\`header\` text NOT NULL,
	\`hash\` text NOT NULL,
	\`body\` text NOT NULL,
	\`subject\` text
);
--> statement-breakpoint
CREATE INDEX \`audit_records_subject\` ON \`audit_records\` (\`subject\`,\`seq\`) WHERE "audit_records"."subject" IS NOT NULL;--> statement-breakpoint
CREATE TABLE \`capabilities\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`holder\` text NOT NULL,
	\`generation\` integer NOT NULL,
	\`own\` integer NOT NULL,
	\`resource\` text NOT NULL,
	\`rights\` integer NOT NULL,
	\`grantable\` integer NOT NULL,
	\`constraints\` text,
	\`uses\` integer,
	\`expires_at\` integer,
	\`max_depth\` integer NOT NULL,
	\`parent\` text,
	\`depth\` integer NOT NULL,
	\`status\` text NOT NULL,
	\`sweeping\` integer,
	\`granted_by\` text NOT NULL,
	\`created_at\` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX \`capabilities_holder\` ON \`capabilities\` (\`holder\`,\`resource\`);--> statement-breakpoint
CREATE INDEX \`capabilities_parent\` ON \`capabilities\` (\`parent\`,\`status\`) WHERE "capabilities"."parent" IS NOT NULL;--> statement-breakpoint
CREATE INDEX \`capabilities_sweeping\` ON \`capabilities\` (\`sweeping\`) WHERE "capabilities"."sweeping" IS NOT NULL;--> statement-breakpoint
CREATE TABLE \`rules\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`effect\` text NOT NULL,
	\`pid\` text NOT NULL,
	\`n\` integer NOT NULL,
	\`resource\` text NOT NULL,
	\`rights\` integer NOT NULL,
	\`reason\` text,
	\`expires_at\` integer,
	\`created_at\` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX \`rules_process\` ON \`rules\` (\`n\`);--> statement-breakpoint
CREATE TABLE \`events\` (
	\`seq\` integer PRIMARY KEY NOT NULL,
	\`type\` text NOT NULL,
	\`at\` integer NOT NULL,
	\`pid\` text,
	\`root\` text,
	\`node\` text NOT NULL,
	\`data\` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE \`objects\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`type\` text NOT NULL,
	\`namespace\` text NOT NULL,
	\`name\` text,
	\`version\` integer NOT NULL,
	\`hash\` text NOT NULL,
	\`payload\` text,
	\`immutable\` integer NOT NULL,
	\`created_by\` text NOT NULL,
	\`created_at\` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX \`objects_name\` ON \`objects\` (\`namespace\`,\`name\`) WHERE "objects"."name" IS NOT NULL;--> statement-breakpoint
CREATE TABLE \`payloads\` (
	\`hash\` text PRIMARY KEY NOT NULL,
	\`payload\` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE \`views\` (
	\`n\` integer PRIMARY KEY NOT NULL,
	\`pid\` text NOT NULL,
	\`mode\` text NOT NULL,
	\`root\` text NOT NULL,
	\`base\` integer,
	\`base_seq\` integer,
	\`narrowing\` text
);
--> statement-breakpoint
CREATE TABLE \`environments\` (
	\`hash\` text PRIMARY KEY NOT NULL,
	\`variables\` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE \`process_tags\` (
	\`space\` text NOT NULL,
	\`key\` text NOT NULL,
	\`value\` text NOT NULL,
	\`n\` integer NOT NULL,
	PRIMARY KEY(\`space\`, \`key\`, \`value\`, \`n\`)
);
--> statement-breakpoint
CREATE TABLE \`processes\` (
	\`n\` integer PRIMARY KEY NOT NULL,
	\`pid\` text NOT NULL,
	\`parent\` text,
	\`born_under\` text,
	\`path\` text NOT NULL,
	\`root\` text NOT NULL,
	\`depth\` integer NOT NULL,
	\`kind\` text NOT NULL,
	\`status\` text NOT NULL,
	\`previous\` text,
	\`image\` text NOT NULL,
	\`name\` text,
	\`labels\` text,
	\`owner\` text,
	\`cwd\` text NOT NULL,
	\`goal\` text NOT NULL,
	\`view\` integer NOT NULL,
	\`args\` text,
	\`env\` text,
	\`generation\` integer NOT NULL,
	\`authority_since\` integer NOT NULL,
	\`attempt\` integer NOT NULL,
	\`version\` integer NOT NULL,
	\`fence\` integer NOT NULL,
	\`node\` text,
	\`wait\` text,
	\`stop\` text,
	\`outcome\` text,
	\`message\` text,
	\`result\` text,
	\`on_parent_exit\` text NOT NULL,
	\`on_budget\` text NOT NULL,
	\`recovery\` text NOT NULL,
	\`retry\` text,
	\`progress\` text,
	\`created_at\` integer NOT NULL,
	\`started_at\` integer,
	\`updated_at\` integer NOT NULL,
	\`exited_at\` integer,
	\`exit_order\` integer,
	\`deadline_ms\` integer,
	\`deadline_at\` integer,
	\`alarm_at\` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX \`processes_pid\` ON \`processes\` (\`pid\`);--> statement-breakpoint
CREATE INDEX \`processes_parent\` ON \`processes\` (\`parent\`,\`n\`);--> statement-breakpoint
CREATE INDEX \`processes_root\` ON \`processes\` (\`root\`,\`n\`);--> statement-breakpoint
CREATE INDEX \`processes_live\` ON \`processes\` (\`status\`,\`n\`) WHERE "processes"."exited_at" IS NULL;--> statement-breakpoint
CREATE INDEX \`processes_node\` ON \`processes\` (\`node\`,\`status\`) WHERE "processes"."node" IS NOT NULL;--> statement-breakpoint
CREATE INDEX \`processes_alarm\` ON \`processes\` (\`alarm_at\`) WHERE "processes"."alarm_at" IS NOT NULL;--> statement-breakpoint
CREATE TABLE \`reaped\` (
	\`n\` integer PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE \`registrations\` (
	\`parent\` text NOT NULL,
	\`id\` text NOT NULL,
	\`pid\` text NOT NULL,
	\`hash\` text NOT NULL,
	PRIMARY KEY(\`parent\`, \`id\`)
);
--> statement-breakpoint
CREATE TABLE \`signal_receipts\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`hash\` text NOT NULL,
	\`report\` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE \`user_signals\` (
	\`pid\` text NOT NULL,
	\`name\` text NOT NULL,
	\`ordinal\` integer NOT NULL,
	\`at\` integer NOT NULL,
	\`payload\` text,
	PRIMARY KEY(\`pid\`, \`name\`, \`ordinal\`)
);
`,
  },
  {
    name: '0001_approvals',
    sql: `CREATE TABLE \`approvals\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`pid\` text NOT NULL,
	\`n\` integer NOT NULL,
	\`generation\` integer NOT NULL,
	\`right\` text NOT NULL,
	\`resource\` text NOT NULL,
	\`args\` text,
	\`args_hash\` text NOT NULL,
	\`capability\` text,
	\`chain\` text NOT NULL,
	\`lineage\` text NOT NULL,
	\`rules\` text NOT NULL,
	\`spec\` text,
	\`created_at\` integer NOT NULL,
	\`expires_at\` integer,
	\`decision\` text,
	\`scope\` text,
	\`answered_by\` text,
	\`answered_at\` integer,
	\`granted\` text,
	\`spent_at\` integer
);
--> statement-breakpoint
CREATE INDEX \`approvals_open\` ON \`approvals\` (\`n\`) WHERE "approvals"."spent_at" IS NULL;--> statement-breakpoint
CREATE INDEX \`approvals_pending\` ON \`approvals\` (\`id\`) WHERE "approvals"."decision" IS NULL;--> statement-breakpoint
ALTER TABLE \`rules\` ADD \`args_hash\` text;`,
  },
  {
    name: '0002_memory',
    sql: `CREATE TABLE \`links\` (
	\`source\` text NOT NULL,
	\`relation\` text NOT NULL,
	\`target\` text NOT NULL,
	\`made_by\` text NOT NULL,
	\`made_at\` integer NOT NULL,
	PRIMARY KEY(\`source\`, \`relation\`, \`target\`)
);
--> statement-breakpoint
CREATE INDEX \`links_target\` ON \`links\` (\`target\`,\`relation\`);--> statement-breakpoint
CREATE TABLE \`object_versions\` (
	\`n\` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	\`object\` text NOT NULL,
	\`branch\` integer NOT NULL,
	\`version\` integer NOT NULL,
	\`hash\` text,
	\`payload\` text,
	\`tokens\` integer NOT NULL,
	\`sources\` text,
	\`made_by\` text NOT NULL,
	\`made_at\` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX \`object_versions_branch\` ON \`object_versions\` (\`object\`,\`branch\`,\`n\`);--> statement-breakpoint
CREATE TABLE \`overlays\` (
	\`view\` integer NOT NULL,
	\`object\` text NOT NULL,
	\`version\` integer NOT NULL,
	\`hash\` text NOT NULL,
	\`payload\` text,
	\`tokens\` integer NOT NULL,
	\`sources\` text,
	\`made_by\` text NOT NULL,
	\`made_at\` integer NOT NULL,
	\`base_hash\` text NOT NULL,
	\`base_version\` integer NOT NULL,
	PRIMARY KEY(\`view\`, \`object\`)
);
--> statement-breakpoint
CREATE TABLE \`view_entries\` (
	\`n\` integer PRIMARY KEY NOT NULL,
	\`view\` integer NOT NULL,
	\`object\` text NOT NULL,
	\`capability\` text NOT NULL,
	\`rights\` integer NOT NULL,
	\`is_there\` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX \`view_entries_object\` ON \`view_entries\` (\`view\`,\`object\`,\`n\`);--> statement-breakpoint
DROP INDEX \`objects_name\`;--> statement-breakpoint
ALTER TABLE \`objects\` ADD \`title\` text;--> statement-breakpoint
ALTER TABLE \`objects\` ADD \`tags\` text;--> statement-breakpoint
ALTER TABLE \`objects\` ADD \`tokens\` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE \`objects\` ADD \`sources\` text;--> statement-breakpoint
ALTER TABLE \`objects\` ADD \`updated_by\` text;--> statement-breakpoint
ALTER TABLE \`objects\` ADD \`updated_at\` integer;--> statement-breakpoint
ALTER TABLE \`objects\` ADD \`deleted_at\` integer;--> statement-breakpoint
CREATE UNIQUE INDEX \`objects_name\` ON \`objects\` (\`namespace\`,\`name\`) WHERE "objects"."name" IS NOT NULL AND "objects"."deleted_at" IS NULL;--> statement-breakpoint
ALTER TABLE \`views\` ADD \`base_entries\` integer;--> statement-breakpoint
ALTER TABLE \`views\` ADD \`base_versions\` integer;--> statement-breakpoint
ALTER TABLE \`views\` ADD \`state\` text;--> statement-breakpoint
UPDATE \`views\` SET \`base_entries\` = 0, \`base_versions\` = 0 WHERE \`base_seq\` IS NOT NULL;--> statement-breakpoint
ALTER TABLE \`views\` DROP COLUMN \`base_seq\`;`,
  },
  {
    name: '0003_execution',
    sql: `CREATE TABLE \`messages\` (
	\`n\` integer PRIMARY KEY NOT NULL,
	\`id\` text NOT NULL,
	\`to_pid\` text NOT NULL,
	\`from_pid\` text NOT NULL,
	\`at\` integer NOT NULL,
	\`kind\` text NOT NULL,
	\`body\` text,
	\`handles\` text
);
--> statement-breakpoint
CREATE INDEX \`messages_to\` ON \`messages\` (\`to_pid\`,\`n\`);--> statement-breakpoint
CREATE TABLE \`nodes\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`name\` text,
	\`epoch\` integer NOT NULL,
	\`expires_at\` integer NOT NULL,
	\`host\` text NOT NULL,
	\`started_at\` integer NOT NULL,
	\`ended_at\` integer
);
--> statement-breakpoint
CREATE TABLE \`run_entries\` (
	\`process\` integer NOT NULL,
	\`key\` text NOT NULL,
	\`seq\` integer NOT NULL,
	\`status\` text NOT NULL,
	\`value\` text,
	\`attempt\` integer NOT NULL,
	\`due_at\` integer,
	\`fence\` integer NOT NULL,
	\`at\` integer NOT NULL,
	PRIMARY KEY(\`process\`, \`key\`)
);
--> statement-breakpoint
ALTER TABLE \`processes\` ADD \`recoveries\` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE \`user_signals\` ADD \`taken\` integer DEFAULT false NOT NULL;`,
  },
  {
    name: '0004_effects',
    sql: `CREATE TABLE \`commands\` (
	\`process\` integer PRIMARY KEY NOT NULL,
	\`token\` text NOT NULL,
	\`line\` text NOT NULL,
	\`resource\` text NOT NULL,
	\`capability\` text NOT NULL,
	\`approval\` text,
	\`background\` integer NOT NULL,
	\`survive\` integer NOT NULL,
	\`leader\` text,
	\`output_bytes\` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE \`effects\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`pid\` text NOT NULL,
	\`generation\` integer NOT NULL,
	\`action\` text NOT NULL,
	\`resource\` text NOT NULL,
	\`capability\` text NOT NULL,
	\`approval\` text,
	\`reservation\` text NOT NULL,
	\`node\` text NOT NULL,
	\`at\` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX \`effects_node\` ON \`effects\` (\`node\`);--> statement-breakpoint
ALTER TABLE \`reservations\` ADD \`underway\` integer DEFAULT false NOT NULL;`,
  },
  {
    name: '0005_storage_limits',
    sql: `ALTER TABLE \`accounts\` ADD \`stored_bytes_limit\` integer;--> statement-breakpoint
ALTER TABLE \`accounts\` ADD \`stored_bytes_used\` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE \`accounts\` ADD \`stored_bytes_reserved\` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE \`commands\` ADD \`args_hash\` text;--> statement-breakpoint
ALTER TABLE \`nodes\` ADD \`lease_ms\` integer;--> statement-breakpoint
ALTER TABLE \`nodes\` ADD \`renewals\` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE \`processes\` ADD \`paused_by\` text;`,
  },
  {
    name: '0006_ordinary_use',
    sql: `CREATE TABLE \`process_logs\` (
	\`process\` integer NOT NULL,
	\`seq\` integer NOT NULL,
	\`at\` integer NOT NULL,
	\`text\` text NOT NULL,
	\`facts\` text,
	PRIMARY KEY(\`process\`, \`seq\`)
);
--> statement-breakpoint
ALTER TABLE \`commands\` ADD \`adopted\` text;--> statement-breakpoint
ALTER TABLE \`nodes\` ADD \`offers\` text;--> statement-breakpoint
ALTER TABLE \`processes\` ADD \`spawn_id\` text;--> statement-breakpoint
ALTER TABLE \`processes\` ADD \`queue\` text;--> statement-breakpoint
ALTER TABLE \`processes\` ADD \`external_ref\` text;--> statement-breakpoint
ALTER TABLE \`processes\` ADD \`acknowledges_stop\` integer;--> statement-breakpoint
ALTER TABLE \`processes\` ADD \`failed_builds\` text;--> statement-breakpoint
CREATE INDEX \`processes_external_ref\` ON \`processes\` (\`external_ref\`,\`n\`) WHERE "processes"."external_ref" IS NOT NULL;--> statement-breakpoint
ALTER TABLE \`registrations\` ADD \`members\` text;`,
  },
  {
    name: '0007_prune',
    sql: `CREATE INDEX \`capabilities_memory\` ON \`capabilities\` (\`resource\`) WHERE "capabilities"."own" = 0 AND "capabilities"."resource" >= 'ns:' AND "capabilities"."resource" < 'objecu';--> statement-breakpoint
CREATE INDEX \`object_versions_stored\` ON \`object_versions\` (\`hash\`) WHERE "object_versions"."payload" IS NULL AND "object_versions"."hash" IS NOT NULL;--> statement-breakpoint
CREATE INDEX \`objects_stored\` ON \`objects\` (\`hash\`) WHERE "objects"."payload" IS NULL;--> statement-breakpoint
CREATE INDEX \`overlays_stored\` ON \`overlays\` (\`hash\`) WHERE "overlays"."payload" IS NULL;`,
  },
  {
    name: '0008_token_counter',
    sql: `CREATE TABLE \`settings\` (
	\`name\` text PRIMARY KEY NOT NULL,
	\`value\` text NOT NULL
);
--> statement-breakpoint
ALTER TABLE \`object_versions\` ADD \`is_counted\` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE \`objects\` ADD \`is_counted\` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE \`overlays\` ADD \`is_counted\` integer DEFAULT false NOT NULL;`,
  },
  {
    name: '0009_causes',
    sql: `ALTER TABLE \`commands\` ADD \`intent\` text;--> statement-breakpoint
ALTER TABLE \`effects\` ADD \`intent\` text;--> statement-breakpoint
ALTER TABLE \`user_signals\` ADD \`record\` text;`,
  },
  {
    name: '0010_recorded_states',
    sql: `CREATE INDEX \`audit_records_state\` ON \`audit_records\` (CASE WHEN json_valid("body") THEN "body" ->> 'target' END,\`seq\`) WHERE CASE WHEN json_valid("body") THEN "body" ->> 'after' END IS NOT NULL;--> statement-breakpoint
CREATE INDEX \`audit_records_change\` ON \`audit_records\` (CASE WHEN json_valid("body") THEN "body" ->> 'capability' END,\`seq\`) WHERE CASE WHEN json_valid("body") THEN "body" ->> 'action' END IN ('capability.transfer', 'capability.revoke', 'capability.spend');`,
  },
  {
    name: '0011_questions',
    sql: `CREATE TABLE \`questions\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`pid\` text NOT NULL,
	\`process\` integer NOT NULL,
	\`generation\` integer NOT NULL,
	\`key\` text,
	\`question\` text NOT NULL,
	\`schema\` text,
	\`choices\` text,
	\`lineage\` text NOT NULL,
	\`created_at\` integer NOT NULL,
	\`expires_at\` integer,
	\`closed_at\` integer,
	\`answer\` text,
	\`answered_by\` text,
	\`answered_at\` integer
);
--> statement-breakpoint
CREATE INDEX \`questions_process\` ON \`questions\` (\`process\`);--> statement-breakpoint
CREATE INDEX \`questions_open\` ON \`questions\` (\`id\`) WHERE "questions"."answered_at" IS NULL AND "questions"."closed_at" IS NULL;`,
  },
  {
    name: '0012_agents',
    sql: `CREATE TABLE \`agent_messages\` (
	\`process\` integer NOT NULL,
	\`id\` text NOT NULL,
	\`message\` text NOT NULL,
	\`text_hash\` text NOT NULL,
	\`at\` integer NOT NULL,
	\`reply\` text,
	\`answered_at\` integer,
	PRIMARY KEY(\`process\`, \`id\`)
);
--> statement-breakpoint
CREATE INDEX \`agent_messages_open\` ON \`agent_messages\` (\`process\`) WHERE "agent_messages"."answered_at" IS NULL;--> statement-breakpoint
CREATE TABLE \`agent_turns\` (
	\`process\` integer NOT NULL,
	\`seq\` integer NOT NULL,
	\`turn\` integer NOT NULL,
	\`at\` integer NOT NULL,
	\`parts\` text NOT NULL,
	PRIMARY KEY(\`process\`, \`seq\`)
);
`,
  },
  {
    name: '0013_held_calls',
    sql: `ALTER TABLE \`approvals\` ADD \`denied_at\` integer;--> statement-breakpoint
ALTER TABLE \`approvals\` ADD \`is_editable\` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE \`approvals\` ADD \`edited_args\` text;--> statement-breakpoint
ALTER TABLE \`approvals\` ADD \`edited_hash\` text;--> statement-breakpoint
ALTER TABLE \`rules\` ADD \`expires_in_ms\` integer;`,
  },
  {
    name: '0014_reads',
    sql: `DROP INDEX \`audit_records_state\`;--> statement-breakpoint
CREATE INDEX \`audit_records_actor\` ON \`audit_records\` (CASE WHEN json_valid("body") THEN "body" ->> 'actor' END,\`seq\`);--> statement-breakpoint
CREATE INDEX \`audit_records_target\` ON \`audit_records\` (CASE WHEN json_valid("body") THEN "body" ->> 'target' END,\`seq\`) WHERE CASE WHEN json_valid("body") THEN "body" ->> 'target' END IS NOT NULL;--> statement-breakpoint
CREATE INDEX \`audit_records_status\` ON \`audit_records\` ((CASE WHEN CASE WHEN json_valid("body") THEN "body" ->> 'after' END IS NOT NULL THEN CASE WHEN json_valid("body") THEN "body" ->> 'target' END END),\`seq\`) WHERE (CASE WHEN CASE WHEN json_valid("body") THEN "body" ->> 'after' END IS NOT NULL THEN CASE WHEN json_valid("body") THEN "body" ->> 'target' END END) IS NOT NULL;--> statement-breakpoint
ALTER TABLE \`events\` ADD \`born_in\` integer;--> statement-breakpoint
UPDATE \`events\` SET \`born_in\` = (SELECT coalesce(p.\`path\` ->> 0, p.\`n\`) FROM \`processes\` p WHERE p.\`pid\` = \`events\`.\`pid\`) WHERE \`pid\` IS NOT NULL;--> statement-breakpoint
CREATE INDEX \`events_pid\` ON \`events\` (\`pid\`,\`seq\`) WHERE "events"."pid" IS NOT NULL;--> statement-breakpoint
CREATE INDEX \`events_born_in\` ON \`events\` (\`born_in\`,\`seq\`) WHERE "events"."born_in" IS NOT NULL;`,
  },
];
