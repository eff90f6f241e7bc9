DROP INDEX "audit_records_state";--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "born_in" bigint;--> statement-breakpoint
UPDATE "events" SET "born_in" = (SELECT coalesce((p."path"::json ->> 0)::bigint, p."n") FROM "processes" p WHERE p."pid" = "events"."pid") WHERE "pid" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "audit_records_actor" ON "audit_records" USING btree (body_member("body", 'actor'),"seq");--> statement-breakpoint
CREATE INDEX "audit_records_target" ON "audit_records" USING btree (body_member("body", 'target'),"seq") WHERE body_member("body", 'target') IS NOT NULL;--> statement-breakpoint
CREATE INDEX "audit_records_status" ON "audit_records" USING btree ((CASE WHEN body_member("body", 'after') IS NOT NULL THEN body_member("body", 'target') END),"seq") WHERE (CASE WHEN body_member("body", 'after') IS NOT NULL THEN body_member("body", 'target') END) IS NOT NULL;--> statement-breakpoint
CREATE INDEX "events_pid" ON "events" USING btree ("pid","seq") WHERE "pid" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "events_born_in" ON "events" USING btree ("born_in","seq") WHERE "born_in" IS NOT NULL;