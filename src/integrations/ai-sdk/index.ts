/** Agents with a model, models whose turns are governed, and the tools of processes for the Vercel AI SDK. */

export type { ModelUsage } from '../shared/model-usage.js';
export type { ToolErrorValue } from '../shared/tool-error-value.js';
export { toolNames } from '../tool-names.js';
export type { AgentResult } from './agent/agent-body.js';
export { agentImage } from './agent/agent-image.js';
export type { AgentSpec, ContextSpec, ProviderOptions, TurnChanges, TurnFacts } from './agent/agent-spec.js';
export { type AgentModel, modelResource } from './model/agent-model.js';
export { governedModel } from './model/governed-model.js';
export type { GovernedModelOptions } from './model/governed-options.js';
export type { CountTokens } from './model/token-estimate.js';
export { type ToolsForOptions, toolsFor } from './tools-for.js';
export { toUIMessageStream, type UIMessageStreamOptions } from './ui-message-stream.js';
