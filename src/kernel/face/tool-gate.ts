import type { CapabilityId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { type Token, token } from '../../base/token.js';
import type { ProcessCaller } from '../../unit/caller.js';
import type { ExternalWork } from './open-tool-call.js';
import type { ProcessFace } from './process-face.js';
import type { EditedCall, ToolInfo } from './process-tools.js';

/** The context of a tool call that the body of a process makes. */
interface ToolRun {
  /** Aborts when the process is stopped, or the run does not count any more. */
  readonly signal: AbortSignal;
  /** Stays the same when the call is repeated. */
  readonly idempotencyKey: string;
  /** Counts from 1; more when an earlier run had begun the call. */
  readonly attempt: number;
  /** Present when an earlier run has paid for the call, which is made again because its program died. */
  readonly paid?: PaidCall;
}

/** Payment of an earlier run for a call. */
export interface PaidCall {
  /** The uses of capabilities that it took; undefined where it took none. */
  readonly uses: TakenUses | undefined;
  /** The arguments of a person that it was made with. */
  readonly edit: CallEdit | undefined;
}

/** Arguments of a person in the place of those of a call, as the journal keeps them. */
export type CallEdit = EditedCall & {
  /** The hash of the arguments that the call was asked for with, keyed where those are not shown in full. */
  readonly originalHash: string;
};

/** The uses of capabilities that a call took. They hold for the same arguments only. */
export interface TakenUses {
  readonly argsHash: string;
  /** By the order of what the call needs: the capability that lost a use, null where none did. */
  readonly capabilities: readonly (CapabilityId | null)[];
}

/** The answers of the units of a call: the replay journal of the run stores them in the same commit. */
export type ToolStage =
  | { readonly stage: 'intent'; readonly uses: TakenUses | undefined; readonly edit: CallEdit | undefined }
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
  /** The name of the tool, or the tool itself. */
  readonly tool: unknown;
  readonly args: unknown;
  readonly options: unknown;
  readonly run?: ToolRun;
  /** Told of the arguments of a person, when the intent of the call is on record. */
  readonly onEdited?: (edit: CallEdit) => void;
  /** The work of an open call; absent for a tool that the kernel runs. */
  readonly external?: ExternalWork;
}
