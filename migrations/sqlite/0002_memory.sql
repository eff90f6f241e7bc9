CREATE TABLE `links` (
	`source` text NOT NULL,
	`relation` text NOT NULL,
	`target` text NOT NULL,
	`made_by` text NOT NULL,
	`made_at` integer NOT NULL,
	PRIMARY KEY(`source`, `relation`, `target`)
);
--> statement-breakpoint
CREATE INDEX `links_target` ON `links` (`target`,`relation`);--> statement-breakpoint
CREATE TABLE `object_versions` (
	`n` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`object` text NOT NULL,
	`branch` integer NOT NULL,
	`version` integer NOT NULL,
	`hash` text,
	`payload` text,
	`tokens` integer NOT NULL,
	`sources` text,
	`made_by` text NOT NULL,
	`made_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `object_versions_branch` ON `object_versions` (`object`,`branch`,`n`);--> statement-breakpoint
CREATE TABLE `overlays` (
	`view` integer NOT NULL,
	`object` text NOT NULL,
	`version` integer NOT NULL,
	`hash` text NOT NULL,
	`payload` text,
	`tokens` integer NOT NULL,
	`sources` text,
	`made_by` text NOT NULL,
	`made_at` integer NOT NULL,
	`base_hash` text NOT NULL,
	`base_version` integer NOT NULL,
	PRIMARY KEY(`view`, `object`)
);
--> statement-breakpoint
CREATE TABLE `view_entries` (
	`n` integer PRIMARY KEY NOT NULL,
	`view` integer NOT NULL,
	`object` text NOT NULL,
	`capability` text NOT NULL,
	`rights` integer NOT NULL,
	`is_there` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `view_entries_object` ON `view_entries` (`view`,`object`,`n`);--> statement-breakpoint
DROP INDEX `objects_name`;--> statement-breakpoint
ALTER TABLE `objects` ADD `title` text;--> statement-breakpoint
ALTER TABLE `objects` ADD `tags` text;--> statement-breakpoint
ALTER TABLE `objects` ADD `tokens` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `objects` ADD `sources` text;--> statement-breakpoint
ALTER TABLE `objects` ADD `updated_by` text;--> statement-breakpoint
ALTER TABLE `objects` ADD `updated_at` integer;--> statement-breakpoint
ALTER TABLE `objects` ADD `deleted_at` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `objects_name` ON `objects` (`namespace`,`name`) WHERE "objects"."name" IS NOT NULL AND "objects"."deleted_at" IS NULL;--> statement-breakpoint
ALTER TABLE `views` ADD `base_entries` integer;--> statement-breakpoint
ALTER TABLE `views` ADD `base_versions` integer;--> statement-breakpoint
ALTER TABLE `views` ADD `state` text;--> statement-breakpoint
UPDATE `views` SET `base_entries` = 0, `base_versions` = 0 WHERE `base_seq` IS NOT NULL;--> statement-breakpoint
ALTER TABLE `views` DROP COLUMN `base_seq`;