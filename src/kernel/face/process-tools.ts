import type { CapabilityId } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';

/** Whether a call may be repeated when the program ended while it ran: it changes nothing, has the same effect again, or may not. */
export type Effect = 'pure' | 'idempotent' | 'once';

/** A tool, as those who may call it see it. */
export interface ToolInfo {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly input: JsonObject;
  /** JSON Schema of its result, where it has one. */
  readonly output?: JsonObject;
  readonly effect: Effect;
}

export interface ToolCallOptions {
  /** The capability to do it by; absent: the kernel finds one. */
  readonly using?: CapabilityId;
  /** TOOL_TIMEOUT when it is over, counted from the call on; within the limit of the tool itself. */
  readonly timeoutMs?: number;
  /** Gives the call up. */
  readonly signal?: AbortSignal;
}

/** The tools of one process. */
export interface ProcessTools {
  /** Those that its image shows it. Seeing a tool is not authority to call it. */
  list(): Promise<ToolInfo[]>;
  /**
   * Calls a tool as this process. Throws NO_SUCH_TOOL, INVALID_INPUT, CAPABILITY_DENIED, BUDGET_EXCEEDED, TOOL_FAILED,
   * TOOL_TIMEOUT, OUTCOME_UNKNOWN, CANCELLED, WAIT_CYCLE.
   */
  call(name: string, args?: JsonValue, options?: ToolCallOptions): Promise<JsonValue>;
}
