CREATE TABLE `process_logs` (
	`process` integer NOT NULL,
	`seq` integer NOT NULL,
	`at` integer NOT NULL,
	`text` text NOT NULL,
	`facts` text,
	PRIMARY KEY(`process`, `seq`)
);
--> statement-breakpoint
ALTER TABLE `commands` ADD `adopted` text;--> statement-breakpoint
ALTER TABLE `nodes` ADD `offers` text;--> statement-breakpoint
ALTER TABLE `processes` ADD `spawn_id` text;--> statement-breakpoint
ALTER TABLE `processes` ADD `queue` text;--> statement-breakpoint
ALTER TABLE `processes` ADD `external_ref` text;--> statement-breakpoint
ALTER TABLE `processes` ADD `acknowledges_stop` integer;--> statement-breakpoint
ALTER TABLE `processes` ADD `failed_builds` text;--> statement-breakpoint
CREATE INDEX `processes_external_ref` ON `processes` (`external_ref`,`n`) WHERE "processes"."external_ref" IS NOT NULL;--> statement-breakpoint
ALTER TABLE `registrations` ADD `members` text;