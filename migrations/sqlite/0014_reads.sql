DROP INDEX `audit_records_state`;--> statement-breakpoint
CREATE INDEX `audit_records_actor` ON `audit_records` (CASE WHEN json_valid("body") THEN "body" ->> 'actor' END,`seq`);--> statement-breakpoint
CREATE INDEX `audit_records_target` ON `audit_records` (CASE WHEN json_valid("body") THEN "body" ->> 'target' END,`seq`) WHERE CASE WHEN json_valid("body") THEN "body" ->> 'target' END IS NOT NULL;--> statement-breakpoint
CREATE INDEX `audit_records_status` ON `audit_records` ((CASE WHEN CASE WHEN json_valid("body") THEN "body" ->> 'after' END IS NOT NULL THEN CASE WHEN json_valid("body") THEN "body" ->> 'target' END END),`seq`) WHERE (CASE WHEN CASE WHEN json_valid("body") THEN "body" ->> 'after' END IS NOT NULL THEN CASE WHEN json_valid("body") THEN "body" ->> 'target' END END) IS NOT NULL;--> statement-breakpoint
ALTER TABLE `events` ADD `born_in` integer;--> statement-breakpoint
UPDATE `events` SET `born_in` = (SELECT coalesce(p.`path` ->> 0, p.`n`) FROM `processes` p WHERE p.`pid` = `events`.`pid`) WHERE `pid` IS NOT NULL;--> statement-breakpoint
CREATE INDEX `events_pid` ON `events` (`pid`,`seq`) WHERE "events"."pid" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `events_born_in` ON `events` (`born_in`,`seq`) WHERE "events"."born_in" IS NOT NULL;