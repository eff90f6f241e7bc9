ALTER TABLE `commands` ADD `intent` text;--> statement-breakpoint
ALTER TABLE `effects` ADD `intent` text;--> statement-breakpoint
ALTER TABLE `user_signals` ADD `record` text;