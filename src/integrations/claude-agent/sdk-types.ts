/** The types of the Claude Agent SDK that its hooks and its MCP servers need, as far as this adapter uses them. */

/** The input of a hook. Which members are present depends on the event. */
export interface ClaudeHookInput {
  /** The event. */
  readonly hook_event_name: string;
  /** Present in a subagent. */
  readonly agent_id?: string;
  /** The type of the subagent. */
  readonly agent_type?: string;
  /** The SDK's name of the tool. */
  readonly tool_name?: string;
  /** The arguments of the call. */
  readonly tool_input?: unknown;
  /** The SDK's id of the call. */
  readonly tool_use_id?: string;
  /** The result of the call. */
  readonly tool_response?: unknown;
  /** The reason of a failure. */
  readonly error?: string;
  /** The last message of a subagent. */
  readonly last_assistant_message?: string;
  /** The calls of one turn, after all of them. */
  readonly tool_calls?: readonly { readonly tool_use_id: string; readonly tool_response?: unknown }[];
}

/** The answer of a hook. */
export interface ClaudeHookOutput {
  /** False ends the session. */
  continue?: boolean;
  /** The reason for the end of the session. */
  stopReason?: string;
  /** The decision about a call. */
  hookSpecificOutput?: {
    hookEventName: 'PreToolUse';
    permissionDecision: 'allow' | 'deny';
    permissionDecisionReason?: string;
  };
}

/** A hook of the SDK. */
export type ClaudeHook = (
  input: ClaudeHookInput,
  toolUseId: string | undefined,
  options: { signal: AbortSignal },
) => Promise<ClaudeHookOutput>;

/** The hooks of one event. */
export interface ClaudeHookMatcher {
  /** The hooks of the event. */
  hooks: ClaudeHook[];
  /** In seconds. */
  timeout: number;
  /** A hook that fails blocks what it is about. */
  onFailure: 'block';
}

/** The events that this adapter has hooks for. */
export type ClaudeHookEvent =
  | 'PreToolUse'
  | 'PostToolUse'
  | 'PostToolUseFailure'
  | 'PostToolBatch'
  | 'SessionEnd'
  | 'SubagentStart'
  | 'SubagentStop';

/** A message of the MCP protocol. */
export interface McpMessage {
  readonly jsonrpc: '2.0';
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly [member: string]: unknown };
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The transport that the SDK gives to an MCP server in its own program. */
export interface McpTransport {
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
  start(): Promise<void>;
  send(message: never): Promise<void>;
  close(): Promise<void>;
}
