/** Agents with a model, and the tools of processes for the Vercel AI SDK. */

export { toolNames } from '../tool-names.js';
export { agentImage } from './agent-image.js';
export type { AgentResult } from './agent-loop.js';
export { type AgentModel, modelResource } from './agent-model.js';
export type { AgentSpec } from './agent-spec.js';
export type { ModelUsage } from './model-usage.js';
export type { ToolErrorValue } from './tool-error-value.js';
export { type ToolsForOptions, toolsFor } from './tools-for.js';
