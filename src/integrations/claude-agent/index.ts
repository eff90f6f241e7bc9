/** The Claude Agent SDK under the kernel: `procura/claude-agent`. */
export {
  type ClaudeAdapterOptions,
  type ClaudeMcpInstance,
  type ClaudeOptions,
  claudeOptions,
} from './claude-options.js';
export { claudeTools } from './claude-tools.js';
export type { ClaudeHook, ClaudeHookEvent, ClaudeHookInput, ClaudeHookMatcher, ClaudeHookOutput } from './sdk-types.js';
export type { ClaudeSubagent, SubagentOptions, SubagentSpec } from './subagents.js';
