/** Agents and tools of the OpenAI Agents SDK under the kernel: `procura/openai-agents`. */

export type { GovernOptions } from '../shared/govern-tools.js';
export type { GovernedTools } from '../shared/governed-tools.js';
export type { ModelUsage } from '../shared/model-usage.js';
export type { ToolsForOptions } from '../shared/offered-tools.js';
export type { ToolErrorValue } from '../shared/tool-error-value.js';
export type { TurnOptions } from '../shared/turn-options.js';
export { agentImage } from './agent-image.js';
export type { AgentRunResult } from './agent-result.js';
export type { AgentImageSpec, RunnableAgent } from './agent-settings.js';
export type { ChildOptions } from './child-agent.js';
export { type DurableModelOptions, durableModel, modelResource } from './durable-model.js';
export { type AgentsTool, governTools } from './govern-tools.js';
export { type KernelFunctionTool, toolsFor } from './tools-for.js';
