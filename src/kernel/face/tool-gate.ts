import type { JsonValue } from '../../base/json.js';
import { type Token, token } from '../../base/token.js';
import type { ProcessCaller } from '../../unit/caller.js';
import type { ProcessFace } from './process-face.js';
import type { ToolInfo } from './process-tools.js';

/** What the run of a body adds to a call of a tool. */
interface ToolRun {
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
