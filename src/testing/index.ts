/** Helpers for testing one's own agents: a clock that is moved, scripted models, recorded histories, assertions about authority. */

export { AuthorityAssertionError, expectAllowed, expectAsked, expectDenied } from './expect-authority.js';
export type {
  ModelAnswer,
  ModelCall,
  ModelContent,
  ModelStreamPart,
  ModelUsageReport,
  PromptMessage,
  PromptPart,
  SpecificationVersion,
} from './model-specification.js';
export { historyOf, type ProcessHistory, type RecordedObject } from './process-history.js';
export { type ReplayOptions, type ReplayResult, replay } from './replay.js';
export { type ScriptedModel, type ScriptedModelOptions, scriptedModel } from './scripted-model.js';
export type { ScriptedToolCall, ScriptedTurn, ScriptedUsage, TurnSource } from './scripted-turn.js';
export { TestClock } from './test-clock.js';
export { createTestKernel, type TestKernel, type TestKernelOptions } from './test-kernel.js';
