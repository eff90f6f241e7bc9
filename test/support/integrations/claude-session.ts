import type { Kernel, Pid } from '../../../src/index.js';
import {
  type ClaudeAdapterOptions,
  type ClaudeHookEvent,
  type ClaudeHookInput,
  type ClaudeHookOutput,
  claudeOptions,
} from '../../../src/integrations/claude-agent/index.js';

/** The part of the MCP server that the SDK uses. */
interface Server {
  connect(transport: object): Promise<void>;
  close(): Promise<void>;
}

/** Calls hooks and the MCP server as the Claude Agent SDK does. */
export class ClaudeSession {
  readonly options: ReturnType<typeof claudeOptions>;
  private calls = 0;

  constructor(kernel: Kernel, pid: Pid, options: ClaudeAdapterOptions = {}) {
    this.options = claudeOptions(kernel.as(pid), options);
  }

  /** Runs the hooks of an event one after the other; answers with what the last one says. */
  async fire(event: ClaudeHookEvent, input: Omit<ClaudeHookInput, 'hook_event_name'>): Promise<ClaudeHookOutput> {
    const { signal } = new AbortController();
    let output: ClaudeHookOutput = {};
    for (const { hooks } of this.options.hooks[event]) {
      for (const hook of hooks)
        output = await hook({ hook_event_name: event, ...input }, input.tool_use_id, { signal });
    }
    return output;
  }

  /** Asks whether a tool may run. */
  async before(
    tool: string,
    args: object,
    agent: Pick<ClaudeHookInput, 'agent_id' | 'agent_type'> = {},
  ): Promise<{ id: string; decision?: string; reason: string; goesOn: boolean }> {
    const id = `toolu_${++this.calls}`;
    const output = await this.fire('PreToolUse', { tool_name: tool, tool_input: args, tool_use_id: id, ...agent });
    const { permissionDecision, permissionDecisionReason = '' } = output.hookSpecificOutput ?? {};
    const decision = permissionDecision === undefined ? {} : { decision: permissionDecision };
    return { id, ...decision, reason: permissionDecisionReason, goesOn: output.continue !== false };
  }

  /** Connects as a client, and answers with a function that makes requests. */
  async connect(): Promise<(method: string, params?: object) => Promise<unknown>> {
    const waiting = new Map<number, (answer: unknown) => void>();
    const transport = {
      onmessage: undefined as ((message: object) => void) | undefined,
      start: async () => undefined,
      close: async () => undefined,
      send: async ({ id, result, error }: { id: number; result?: unknown; error?: unknown }) =>
        waiting.get(id)?.(result ?? { error }),
    };
    await (this.options.mcpServers.procura.instance as Server).connect(transport);
    let requests = 0;
    return (method, params = {}) => {
      const id = ++requests;
      const answered = new Promise<unknown>((resolve) => waiting.set(id, resolve));
      transport.onmessage?.({ jsonrpc: '2.0', id, method, params });
      return answered;
    };
  }
}
