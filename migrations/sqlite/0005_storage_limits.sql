ALTER TABLE `accounts` ADD `stored_bytes_limit` integer;--> statement-breakpoint
ALTER TABLE `accounts` ADD `stored_bytes_used` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `accounts` ADD `stored_bytes_reserved` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `commands` ADD `args_hash` text;--> statement-breakpoint
ALTER TABLE `nodes` ADD `lease_ms` integer;--> statement-breakpoint
ALTER TABLE `nodes` ADD `renewals` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `processes` ADD `paused_by` text;