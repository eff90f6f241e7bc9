CREATE TABLE `approvals` (
	`id` text PRIMARY KEY NOT NULL,
	`pid` text NOT NULL,
	`n` integer NOT NULL,
	`generation` integer NOT NULL,
	`right` text NOT NULL,
	`resource` text NOT NULL,
	`args` text,
	`args_hash` text NOT NULL,
	`capability` text,
	`chain` text NOT NULL,
	`lineage` text NOT NULL,
	`rules` text NOT NULL,
	`spec` text,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`decision` text,
	`scope` text,
	`answered_by` text,
	`answered_at` integer,
	`granted` text,
	`spent_at` integer
);
--> statement-breakpoint
CREATE INDEX `approvals_open` ON `approvals` (`n`) WHERE "approvals"."spent_at" IS NULL;--> statement-breakpoint
CREATE INDEX `approvals_pending` ON `approvals` (`id`) WHERE "approvals"."decision" IS NULL;--> statement-breakpoint
ALTER TABLE `rules` ADD `args_hash` text;