CREATE TABLE `messages` (
	`n` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`to_pid` text NOT NULL,
	`from_pid` text NOT NULL,
	`at` integer NOT NULL,
	`kind` text NOT NULL,
	`body` text,
	`handles` text
);
--> statement-breakpoint
CREATE INDEX `messages_to` ON `messages` (`to_pid`,`n`);--> statement-breakpoint
CREATE TABLE `nodes` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text,
	`epoch` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`host` text NOT NULL,
	`started_at` integer NOT NULL,
	`ended_at` integer
);
--> statement-breakpoint
CREATE TABLE `run_entries` (
	`process` integer NOT NULL,
	`key` text NOT NULL,
	`seq` integer NOT NULL,
	`status` text NOT NULL,
	`value` text,
	`attempt` integer NOT NULL,
	`due_at` integer,
	`fence` integer NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`process`, `key`)
);
--> statement-breakpoint
ALTER TABLE `processes` ADD `recoveries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `user_signals` ADD `taken` integer DEFAULT false NOT NULL;