/* Every table of a store. */
export * from './accounts.js';
export * from './agents.js';
export * from './audit.js';
export * from './capabilities.js';
export * from './effects.js';
export * from './events.js';
export * from './execution.js';
export * from './memory.js';
export * from './processes.js';
export * from './questions.js';
export * from './settings.js';
