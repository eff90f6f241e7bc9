CREATE TABLE `agent_messages` (
	`process` integer NOT NULL,
	`id` text NOT NULL,
	`message` text NOT NULL,
	`text_hash` text NOT NULL,
	`at` integer NOT NULL,
	`reply` text,
	`answered_at` integer,
	PRIMARY KEY(`process`, `id`)
);
--> statement-breakpoint
CREATE INDEX `agent_messages_open` ON `agent_messages` (`process`) WHERE "agent_messages"."answered_at" IS NULL;--> statement-breakpoint
CREATE TABLE `agent_turns` (
	`process` integer NOT NULL,
	`seq` integer NOT NULL,
	`turn` integer NOT NULL,
	`at` integer NOT NULL,
	`parts` text NOT NULL,
	PRIMARY KEY(`process`, `seq`)
);
