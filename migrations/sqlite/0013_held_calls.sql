ALTER TABLE `approvals` ADD `denied_at` integer;--> statement-breakpoint
ALTER TABLE `approvals` ADD `is_editable` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `approvals` ADD `edited_args` text;--> statement-breakpoint
ALTER TABLE `approvals` ADD `edited_hash` text;--> statement-breakpoint
ALTER TABLE `rules` ADD `expires_in_ms` integer;