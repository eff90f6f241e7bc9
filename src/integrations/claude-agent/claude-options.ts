import { z } from 'zod';
import type { Pid, ProcessFace } from '../../index.js';
import type { CallingFace } from '../shared/calling-face.js';
import { parseInput } from '../shared/parse-input.js';
import { functionSchema } from '../shared/turn-options.js';
import { KernelServer } from './kernel-server.js';
import type { ClaudeHook, ClaudeHookEvent, ClaudeHookMatcher } from './sdk-types.js';
import { type SubagentSpec, Subagents } from './subagents.js';
import { subagentOf, ToolHooks } from './tool-hooks.js';

/** Options of `claudeOptions`. */
export interface ClaudeAdapterOptions {
  /**
   * `kernel`, the default: the SDK's own tools are off, and the agent has the tools of the process. `governed`: it has the SDK's
   * own tools, too, each call of which needs `call` on `tool:claude/NAME`; see `claudeTools`.
   */
  readonly tools?: 'kernel' | 'governed';
  /** Authority, budget and more of the child that stands for a subagent; absent: all that can be handed on. */
  readonly subagent?: SubagentSpec;
  /** Gives the face of a child: `kernel.as`. Needed for subagents where `face` is the `ctx` of a body. */
  readonly as?: (pid: Pid) => ProcessFace;
}

/** Options for `query` of the Claude Agent SDK. */
export interface ClaudeOptions {
  /** Open and close the calls of tools, and spawn and end the children of subagents. */
  hooks: Record<ClaudeHookEvent, ClaudeHookMatcher[]>;
  /** The tools of the process. */
  mcpServers: { procura: { type: 'sdk'; name: string; instance: ClaudeMcpInstance } };
  /** No other MCP server is connected. */
  strictMcpConfig: true;
  /** The SDK's own tools. */
  tools: string[] | { type: 'preset'; preset: 'claude_code' };
}

/** A server that only the SDK uses. The SDK names a class of another package as its type, which `never` fits. */
export type ClaudeMcpInstance = never;

const adapterOptions = z.strictObject({
  tools: z.enum(['kernel', 'governed']).default('kernel'),
  subagent: functionSchema<SubagentSpec>().optional(),
  as: functionSchema<(pid: Pid) => ProcessFace>().optional(),
});

const serverName = 'procura';
/** A week: a person may take long to answer a question about a call. */
const hookTimeoutSeconds = 604_800;

/**
 * Options with which an agent of the Claude Agent SDK acts as the process: its tools go through the kernel, and its subagents
 * are children. A hook that fails blocks the call. Spread them last into the options of one `query`, so that nothing
 * replaces them. Throws INVALID_INPUT.
 *
 * @example
 * const pid = await kernel.processes.spawn({ name: 'coder', capabilities });
 * query({ prompt, options: { model: 'sonnet', settingSources: [], ...claudeOptions(kernel.as(pid)) } });
 */
export function claudeOptions(face: CallingFace, options: ClaudeAdapterOptions = {}): ClaudeOptions {
  const { tools, subagent, as } = parseInput(adapterOptions, options, 'options', 'docs/api/claude-agent.md');
  const subagents = new Subagents(face, subagent, as);
  const calls = new ToolHooks(subagents, `mcp__${serverName}__`, tools === 'governed');
  const server = new KernelServer(face, async (toolUseId) => {
    if (toolUseId === undefined) return subagents.onlyFace();
    return subagents.faceOf(calls.callerOf(toolUseId));
  });
  return {
    hooks: {
      PreToolUse: matcherOf((input, _id, { signal }) => calls.before(input, signal)),
      PostToolUse: matcherOf((input) => calls.after(input)),
      PostToolUseFailure: matcherOf((input) => calls.afterFailure(input)),
      PostToolBatch: matcherOf((input) => calls.afterBatch(input)),
      SessionEnd: matcherOf(() => calls.afterSession()),
      SubagentStart: matcherOf(async (input) => {
        const agent = subagentOf(input);
        if (agent !== undefined) await subagents.start(agent);
        return {};
      }),
      SubagentStop: matcherOf(async (input) => {
        const agent = subagentOf(input);
        if (agent !== undefined) await subagents.stop(agent, input.last_assistant_message ?? '');
        return {};
      }),
    },
    mcpServers: { [serverName]: { type: 'sdk', name: serverName, instance: server as object as ClaudeMcpInstance } },
    strictMcpConfig: true,
    tools: tools === 'governed' ? { type: 'preset', preset: 'claude_code' } : [],
  };
}

function matcherOf(hook: ClaudeHook): ClaudeHookMatcher[] {
  return [{ hooks: [hook], timeout: hookTimeoutSeconds, onFailure: 'block' }];
}
