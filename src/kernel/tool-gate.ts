import type { CapabilityId } from '../base/ids.js';
import type { JsonObject, JsonValue } from '../base/json.js';
import { type Token, token } from '../base/token.js';
import type { ProcessCaller } from './act.js';
import type { ProcessFace } from './process-face.js';

/** What a call may do to the world when the program ends while it is under way. */
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
  /** TOOL_TIMEOUT when it is over; within the limit of the tool itself. */
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
   * TOOL_TIMEOUT, OUTCOME_UNKNOWN.
   */
  call(name: string, args?: JsonValue, options?: ToolCallOptions): Promise<JsonValue>;
}

/** What the run of a body adds to a call of a tool. */
export interface ToolRun {
  /** Aborts when the process is stopped, or the run does not count any more. */
  readonly signal: AbortSignal;
  /** The same whenever the call is repeated. */
  readonly idempotencyKey: string;
  /** Counts from 1; more when an earlier run had begun the call. */
  readonly attempt: number;
}

/** What the units of a call answer with, so that the journal of a run keeps it in the same commit. */
export type ToolStage =
  | { readonly stage: 'intent' }
  | { readonly stage: 'returned'; readonly value: JsonValue }
  | { readonly stage: 'failed'; readonly error: unknown };

/** The gate that every call of a tool goes through. */
export interface ToolGate {
  list(caller: ProcessCaller): Promise<ToolInfo[]>;
  /** `face` is what the tool may act with: the process's own. */
  call(call: GatedCall): Promise<JsonValue>;
}
export const ToolGate: Token<ToolGate> = token('ToolGate');

export interface GatedCall {
  readonly caller: ProcessCaller;
  readonly face: ProcessFace;
  readonly name: unknown;
  readonly args: unknown;
  readonly options: unknown;
  readonly run?: ToolRun;
}
