/** The tools of a process for any loop, and for the loops of the SDKs of Anthropic and OpenAI. */

export type { CalledValue } from '../shared/call-as-value.js';
export type { TurnLimits } from '../shared/model-turn.js';
export type { ModelUsage } from '../shared/model-usage.js';
export type { ToolsForOptions } from '../shared/offered-tools.js';
export type { ToolErrorValue } from '../shared/tool-error-value.js';
export type { TurnOptions } from '../shared/turn-options.js';
export {
  type AnthropicMessage,
  type AnthropicTool,
  type AnthropicToolResult,
  type AnthropicTools,
  anthropicTools,
} from './anthropic-tools.js';
export { type CallableTool, callableTools } from './callable-tools.js';
export { type DurableTurn, durableTurn } from './durable-turn.js';
export {
  type OpenAICallOutput,
  type OpenAIChatTool,
  type OpenAIChatTools,
  type OpenAICompletion,
  type OpenAIResponse,
  type OpenAIResponsesTool,
  type OpenAIResponsesTools,
  type OpenAIToolMessage,
  type OpenAIToolsOptions,
  openaiTools,
} from './openai-tools.js';
export type { ResultsOptions } from './requested-calls.js';
