CREATE TABLE `questions` (
	`id` text PRIMARY KEY NOT NULL,
	`pid` text NOT NULL,
	`process` integer NOT NULL,
	`generation` integer NOT NULL,
	`key` text,
	`question` text NOT NULL,
	`schema` text,
	`choices` text,
	`lineage` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`closed_at` integer,
	`answer` text,
	`answered_by` text,
	`answered_at` integer
);
--> statement-breakpoint
CREATE INDEX `questions_process` ON `questions` (`process`);--> statement-breakpoint
CREATE INDEX `questions_open` ON `questions` (`id`) WHERE "questions"."answered_at" IS NULL AND "questions"."closed_at" IS NULL;