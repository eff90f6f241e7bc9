import { invalidInput } from '../../base/errors.js';
import type { ApprovalId, CapabilityId } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { KnownType } from '../../base/schema/schema-types.js';
import { sealedFace } from '../../unit/faces.js';
import type { OpenToolCall } from './open-tool-call.js';

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
  /** Present where the kernel does not run it: its calls are made with `open`. */
  readonly external?: true;
}

/** Options of a call of a tool. */
export interface ToolCallOptions {
  /** The capability to do it by; absent: the kernel finds one. */
  readonly using?: CapabilityId;
  /** TOOL_TIMEOUT when it is over, counted from the call on; within the limit of the tool itself. */
  readonly timeoutMs?: number;
  /** Gives the call up. */
  readonly signal?: AbortSignal;
  /**
   * Told when a person has put other arguments in the place of those of the call, before its result or its error is given; by a
   * rerun again.
   */
  readonly onEdited?: (edit: EditedCall) => void;
}

/** A call that was made with the arguments of a person. */
export type EditedCall = {
  /** As they were run: what the schema of the tool made of what the person gave. */
  readonly args: JsonValue;
  /** The name of the person. */
  readonly by: string;
  readonly approval: ApprovalId;
};

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
  /**
   * Opens a call of an external tool, whose work the caller does and then settles. Everything before the work is as in `call`:
   * arguments, authority, approval, budget, the record of the intent. Throws as `call` does; INVALID_INPUT for a tool that the
   * kernel runs itself.
   *
   * @example
   * const call = await face.tools.open('editor.apply', { file: 'a.ts' });
   * await editor.apply('a.ts').then((value) => call.settle(value), (error) => call.fail(error));
   */
  open<T extends string | TypedTool>(tool: T, ...parameters: ToolParameters<T>): Promise<OpenToolCall>;
}

interface UntypedTools {
  list(): Promise<ToolInfo[]>;
  call(tool: string | TypedTool, args?: JsonValue, options?: ToolCallOptions): Promise<JsonValue>;
  open(tool: string | TypedTool, args?: JsonValue, options?: ToolCallOptions): Promise<OpenToolCall>;
}

/** The tools that a process is given. The types of a tool are known to the compiler only. */
export function sealedTools(tools: UntypedTools): ProcessTools {
  return sealedFace(tools) as object as ProcessTools;
}

/** Makes a call with the options that are data, and tells `onEdited` of them about the arguments of a person. */
export async function tellEdit<T>(
  given: ToolCallOptions,
  make: (options: ToolCallOptions, remember: (edit: EditedCall | undefined) => void) => Promise<T>,
): Promise<T> {
  const listener: unknown = Object.getOwnPropertyDescriptor(given ?? {}, 'onEdited')?.value;
  if (listener === undefined) return make(given, () => undefined);
  if (typeof listener !== 'function') throw invalidInput('options.onEdited', 'is not a function', 'Give a function.');
  const { onEdited: _listener, ...data } = Object.getOwnPropertyDescriptors(given);
  let edit: EditedCall | undefined;
  const remember = (made: EditedCall | undefined) => {
    edit = made;
  };
  try {
    return await make(Object.create(Object.prototype, data), remember);
  } finally {
    if (edit !== undefined) listener({ args: edit.args, by: edit.by, approval: edit.approval });
  }
}

/** The name of a tool that may be given itself. Getters of it are not called. */
export function nameOfTool(tool: unknown): unknown {
  if (typeof tool !== 'object' || tool === null) return tool;
  return Object.getOwnPropertyDescriptor(tool, 'name')?.value;
}
