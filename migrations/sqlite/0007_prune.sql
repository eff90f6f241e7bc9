CREATE INDEX `capabilities_memory` ON `capabilities` (`resource`) WHERE "capabilities"."own" = 0 AND "capabilities"."resource" >= 'ns:' AND "capabilities"."resource" < 'objecu';--> statement-breakpoint
CREATE INDEX `object_versions_stored` ON `object_versions` (`hash`) WHERE "object_versions"."payload" IS NULL AND "object_versions"."hash" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `objects_stored` ON `objects` (`hash`) WHERE "objects"."payload" IS NULL;--> statement-breakpoint
CREATE INDEX `overlays_stored` ON `overlays` (`hash`) WHERE "overlays"."payload" IS NULL;