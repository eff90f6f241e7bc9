CREATE TABLE `settings` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
ALTER TABLE `object_versions` ADD `is_counted` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `objects` ADD `is_counted` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `overlays` ADD `is_counted` integer DEFAULT false NOT NULL;