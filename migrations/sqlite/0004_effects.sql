CREATE TABLE `commands` (
	`process` integer PRIMARY KEY NOT NULL,
	`token` text NOT NULL,
	`line` text NOT NULL,
	`resource` text NOT NULL,
	`capability` text NOT NULL,
	`approval` text,
	`background` integer NOT NULL,
	`survive` integer NOT NULL,
	`leader` text,
	`output_bytes` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `effects` (
	`id` text PRIMARY KEY NOT NULL,
	`pid` text NOT NULL,
	`generation` integer NOT NULL,
	`action` text NOT NULL,
	`resource` text NOT NULL,
	`capability` text NOT NULL,
	`approval` text,
	`reservation` text NOT NULL,
	`node` text NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `effects_node` ON `effects` (`node`);--> statement-breakpoint
ALTER TABLE `reservations` ADD `underway` integer DEFAULT false NOT NULL;