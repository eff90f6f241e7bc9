CREATE TABLE `accounts` (
	`n` integer PRIMARY KEY NOT NULL,
	`tool_calls_limit` integer,
	`tool_calls_used` integer DEFAULT 0 NOT NULL,
	`tool_calls_reserved` integer DEFAULT 0 NOT NULL,
	`tokens_limit` integer,
	`tokens_used` integer DEFAULT 0 NOT NULL,
	`tokens_reserved` integer DEFAULT 0 NOT NULL,
	`cost_micros_limit` integer,
	`cost_micros_used` integer DEFAULT 0 NOT NULL,
	`cost_micros_reserved` integer DEFAULT 0 NOT NULL,
	`materialized_tokens_limit` integer,
	`materialized_tokens_used` integer DEFAULT 0 NOT NULL,
	`materialized_tokens_reserved` integer DEFAULT 0 NOT NULL,
	`output_bytes_limit` integer,
	`output_bytes_used` integer DEFAULT 0 NOT NULL,
	`output_bytes_reserved` integer DEFAULT 0 NOT NULL,
	`children_limit` integer,
	`children_used` integer DEFAULT 0 NOT NULL,
	`depth_limit` integer,
	`wall_ms_limit` integer,
	`born` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE `reservations` (
	`id` text PRIMARY KEY NOT NULL,
	`pid` text NOT NULL,
	`usage` text NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `reservations_pid` ON `reservations` (`pid`);--> statement-breakpoint
CREATE TABLE `audit_checkpoints` (
	`size` integer NOT NULL,
	`key` text NOT NULL,
	`log` text NOT NULL,
	`root` text NOT NULL,
	`at` integer NOT NULL,
	`replaced` integer NOT NULL,
	`signature` text NOT NULL,
	PRIMARY KEY(`size`, `key`)
);
--> statement-breakpoint
CREATE TABLE `audit_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`public_key` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `audit_log` (
	`id` text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE `audit_nodes` (
	`level` integer NOT NULL,
	`index` integer NOT NULL,
	`hash` text NOT NULL,
	PRIMARY KEY(`level`, `index`)
);
--> statement-breakpoint
CREATE TABLE `audit_payloads` (
	`seq` integer PRIMARY KEY NOT NULL,
	`salt` blob NOT NULL,
	`bytes` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `audit_records` (
	`seq` integer PRIMARY KEY NOT NULL,
	`header` text NOT NULL,
	`hash` text NOT NULL,
	`body` text NOT NULL,
	`subject` text
);
--> statement-breakpoint
CREATE INDEX `audit_records_subject` ON `audit_records` (`subject`,`seq`) WHERE "audit_records"."subject" IS NOT NULL;--> statement-breakpoint
CREATE TABLE `capabilities` (
	`id` text PRIMARY KEY NOT NULL,
	`holder` text NOT NULL,
	`generation` integer NOT NULL,
	`own` integer NOT NULL,
	`resource` text NOT NULL,
	`rights` integer NOT NULL,
	`grantable` integer NOT NULL,
	`constraints` text,
	`uses` integer,
	`expires_at` integer,
	`max_depth` integer NOT NULL,
	`parent` text,
	`depth` integer NOT NULL,
	`status` text NOT NULL,
	`sweeping` integer,
	`granted_by` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `capabilities_holder` ON `capabilities` (`holder`,`resource`);--> statement-breakpoint
CREATE INDEX `capabilities_parent` ON `capabilities` (`parent`,`status`) WHERE "capabilities"."parent" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `capabilities_sweeping` ON `capabilities` (`sweeping`) WHERE "capabilities"."sweeping" IS NOT NULL;--> statement-breakpoint
CREATE TABLE `rules` (
	`id` text PRIMARY KEY NOT NULL,
	`effect` text NOT NULL,
	`pid` text NOT NULL,
	`n` integer NOT NULL,
	`resource` text NOT NULL,
	`rights` integer NOT NULL,
	`reason` text,
	`expires_at` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `rules_process` ON `rules` (`n`);--> statement-breakpoint
CREATE TABLE `events` (
	`seq` integer PRIMARY KEY NOT NULL,
	`type` text NOT NULL,
	`at` integer NOT NULL,
	`pid` text,
	`root` text,
	`node` text NOT NULL,
	`data` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `objects` (
	`id` text PRIMARY KEY NOT NULL,
	`type` text NOT NULL,
	`namespace` text NOT NULL,
	`name` text,
	`version` integer NOT NULL,
	`hash` text NOT NULL,
	`payload` text,
	`immutable` integer NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `objects_name` ON `objects` (`namespace`,`name`) WHERE "objects"."name" IS NOT NULL;--> statement-breakpoint
CREATE TABLE `payloads` (
	`hash` text PRIMARY KEY NOT NULL,
	`payload` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `views` (
	`n` integer PRIMARY KEY NOT NULL,
	`pid` text NOT NULL,
	`mode` text NOT NULL,
	`root` text NOT NULL,
	`base` integer,
	`base_seq` integer,
	`narrowing` text
);
--> statement-breakpoint
CREATE TABLE `environments` (
	`hash` text PRIMARY KEY NOT NULL,
	`variables` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `process_tags` (
	`space` text NOT NULL,
	`key` text NOT NULL,
	`value` text NOT NULL,
	`n` integer NOT NULL,
	PRIMARY KEY(`space`, `key`, `value`, `n`)
);
--> statement-breakpoint
CREATE TABLE `processes` (
	`n` integer PRIMARY KEY NOT NULL,
	`pid` text NOT NULL,
	`parent` text,
	`born_under` text,
	`path` text NOT NULL,
	`root` text NOT NULL,
	`depth` integer NOT NULL,
	`kind` text NOT NULL,
	`status` text NOT NULL,
	`previous` text,
	`image` text NOT NULL,
	`name` text,
	`labels` text,
	`owner` text,
	`cwd` text NOT NULL,
	`goal` text NOT NULL,
	`view` integer NOT NULL,
	`args` text,
	`env` text,
	`generation` integer NOT NULL,
	`authority_since` integer NOT NULL,
	`attempt` integer NOT NULL,
	`version` integer NOT NULL,
	`fence` integer NOT NULL,
	`node` text,
	`wait` text,
	`stop` text,
	`outcome` text,
	`message` text,
	`result` text,
	`on_parent_exit` text NOT NULL,
	`on_budget` text NOT NULL,
	`recovery` text NOT NULL,
	`retry` text,
	`progress` text,
	`created_at` integer NOT NULL,
	`started_at` integer,
	`updated_at` integer NOT NULL,
	`exited_at` integer,
	`exit_order` integer,
	`deadline_ms` integer,
	`deadline_at` integer,
	`alarm_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `processes_pid` ON `processes` (`pid`);--> statement-breakpoint
CREATE INDEX `processes_parent` ON `processes` (`parent`,`n`);--> statement-breakpoint
CREATE INDEX `processes_root` ON `processes` (`root`,`n`);--> statement-breakpoint
CREATE INDEX `processes_live` ON `processes` (`status`,`n`) WHERE "processes"."exited_at" IS NULL;--> statement-breakpoint
CREATE INDEX `processes_node` ON `processes` (`node`,`status`) WHERE "processes"."node" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `processes_alarm` ON `processes` (`alarm_at`) WHERE "processes"."alarm_at" IS NOT NULL;--> statement-breakpoint
CREATE TABLE `reaped` (
	`n` integer PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE `registrations` (
	`parent` text NOT NULL,
	`id` text NOT NULL,
	`pid` text NOT NULL,
	`hash` text NOT NULL,
	PRIMARY KEY(`parent`, `id`)
);
--> statement-breakpoint
CREATE TABLE `signal_receipts` (
	`id` text PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`report` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `user_signals` (
	`pid` text NOT NULL,
	`name` text NOT NULL,
	`ordinal` integer NOT NULL,
	`at` integer NOT NULL,
	`payload` text,
	PRIMARY KEY(`pid`, `name`, `ordinal`)
);
