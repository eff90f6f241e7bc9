import type { CapabilityId } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { KnownType } from '../../base/schema/schema-types.js';
import { sealedFace } from '../../unit/faces.js';

/** Whether a call may be repeated when the program ended while it ran: it changes nothing, has the same effect again, or may not. */
export type Effect = 'pure' | 'idempotent' | 'once';

/** A tool, as those who may call it see it. */
export interface ToolInfo {
  readonly name: string;
  /** A description for models and people. */
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly input: JsonObject;
  /** JSON Schema of its result, where it has one. */
  readonly output?: JsonObject;
  /** The effect of a repeated call. */
  readonly effect: Effect;
}

/** Options of a call of a tool. */
export interface ToolCallOptions {
  /** The capability to do it by; absent: the kernel finds one. */
  readonly using?: CapabilityId;
  /** TOOL_TIMEOUT when it is over, counted from the call on; within the limit of the tool itself. */
  readonly timeoutMs?: number;
  /** Gives the call up. */
  readonly signal?: AbortSignal;
}

/** The name of a tool and the types of its calls: every tool is one. */
export interface TypedTool<Args = unknown, Output = unknown> {
  readonly name: string;
  /** Carries the types; never present at run time. */
  readonly '~types'?: { readonly args: Args; readonly output: Output };
}

/** The type of the arguments of a tool; of a name it is not known. */
export type ToolArgs<T> = T extends TypedTool<infer Args, infer _Output> ? KnownType<Args> : JsonValue;

/** The type of the result of a tool; of a name it is not known. */
export type ToolOutput<T> = T extends TypedTool<infer _Args, infer Output> ? KnownType<Output> : JsonValue;

/** The arguments of a call, which may be left out where the tool accepts `{}`, and its options. */
type ToolParameters<T> =
  Record<never, never> extends ToolArgs<T>
    ? [args?: ToolArgs<T>, options?: ToolCallOptions]
    : [args: ToolArgs<T>, options?: ToolCallOptions];

/** The tools of one process. */
export interface ProcessTools {
  /** Those that its image shows it. Seeing a tool is not authority to call it. */
  list(): Promise<ToolInfo[]>;
  /**
   * Calls a tool as this process. A tool that is given itself types arguments and result; it must be the one that is
   * registered under its name (CONFLICT). Throws NO_SUCH_TOOL, INVALID_INPUT, CAPABILITY_DENIED, BUDGET_EXCEEDED,
   * TOOL_FAILED, TOOL_TIMEOUT, OUTCOME_UNKNOWN, CANCELLED, WAIT_CYCLE.
   */
  call<T extends string | TypedTool>(tool: T, ...parameters: ToolParameters<T>): Promise<ToolOutput<T>>;
}

interface UntypedTools {
  list(): Promise<ToolInfo[]>;
  call(tool: string | TypedTool, args?: JsonValue, options?: ToolCallOptions): Promise<JsonValue>;
}

/** The tools that a process is given. The types of a tool are known to the compiler only. */
export function sealedTools(tools: UntypedTools): ProcessTools {
  return sealedFace(tools) as object as ProcessTools;
}

/** The name of a tool that may be given itself. Getters of it are not called. */
export function nameOfTool(tool: unknown): unknown {
  if (typeof tool !== 'object' || tool === null) return tool;
  return Object.getOwnPropertyDescriptor(tool, 'name')?.value;
}
