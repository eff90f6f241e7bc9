/** Agents and graphs of LangChain as bodies of processes. */

export type { GovernOptions } from '../shared/govern-tools.js';
export type { GovernedTools } from '../shared/governed-tools.js';
export type { ModelUsage } from '../shared/model-usage.js';
export type { ToolsForOptions } from '../shared/offered-tools.js';
export type { TurnOptions } from '../shared/turn-options.js';
export { durableModel, type LangChainTurnOptions } from './durable-model.js';
export { governTools, type LangChainTool } from './govern-tools.js';
export { type InvokableAgent, invokeAgent } from './invoke-agent.js';
export { type MiddlewareOptions, procuraMiddleware } from './middleware.js';
export { type LangChainModel, modelResource } from './model-name.js';
export { type KernelTool, toolsFor } from './tools-for.js';
