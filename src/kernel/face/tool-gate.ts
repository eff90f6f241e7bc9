import type { JsonValue } from '../../base/json.js';
import { type Token, token } from '../../base/token.js';
import type { ProcessCaller } from '../../unit/caller.js';
import type { ProcessFace } from './process-face.js';
import type { ToolInfo } from './process-tools.js';

/** The context of a tool call that the body of a process makes. */
interface ToolRun {
  /** Aborts when the process is stopped, or the run does not count any more. */
  readonly signal: AbortSignal;
  /** Stays the same when the call is repeated. */
  readonly idempotencyKey: string;
  /** Counts from 1; more when an earlier run had begun the call. */
  readonly attempt: number;
  /** Whether an earlier run has paid for the call, which is made again because its program died. */
  readonly isPaid: boolean;
}

/** The answers of the units of a call: the replay journal of the run stores them in the same commit. */
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
