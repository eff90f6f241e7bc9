import type { Pid } from '../base/ids.js';
import type { JsonObject, JsonValue } from '../base/json.js';
import type { Decision } from '../capability/decision/decision.js';
import type { Right } from '../capability/resource/rights.js';
import type { Usage } from '../kernel/budget/budget.js';
import type { ProcessFace } from '../kernel/face/process-face.js';
import type { Effect } from '../kernel/face/process-tools.js';
import type { Schema } from '../runtime/image/schema.js';

/** What a call needs besides `call` on the tool itself. */
export interface ToolResource {
  readonly right: Right;
  /** Names one thing, such as `fs:src/main.ts`. */
  readonly resource: string;
  /** What constraints of capabilities on it look at. */
  readonly args?: JsonObject;
}

/** Where a call is made from. */
export interface ToolPlace {
  readonly pid: Pid;
  /** The working directory of the process, relative to the workspace. */
  readonly cwd: string;
  /** Absolute path of the folder that all files lie in, without links. */
  readonly workspace: string;
}

/** What a tool is given besides its arguments. */
export interface ToolContext extends ToolPlace {
  /** Aborts when the process is stopped or the time is over. */
  readonly signal: AbortSignal;
  /** Counts from 1; more when an earlier run had begun the call. */
  readonly attempt: number;
  /** The same whenever the call is repeated. */
  readonly idempotencyKey: string;
  /** Acts as the process that called, and with no more than it may do. */
  readonly process: ProcessFace;
  /** What `resources` gave for this call, and was allowed. */
  readonly resources: readonly ToolResource[];
  /**
   * The files of the resources that were checked, as absolute real paths, by the text of the resource: what was decided on
   * is what has to be opened.
   */
  readonly files: ReadonlyMap<string, string>;
  /** Checks something that was not known before, such as where a redirect leads; on record. Throws CAPABILITY_DENIED. */
  require(right: Right, resource: string, args?: JsonValue): Promise<Decision>;
}

export interface ToolSpec<Args = JsonValue, Result = JsonValue> {
  readonly name: string;
  /** For whoever chooses between tools, often a model. */
  readonly description: string;
  readonly input: Schema;
  readonly output?: Schema;
  readonly effect: Effect;
  /** For arguments that do less than the tool can. */
  readonly effectOf?: (args: Args) => Effect;
  readonly resources?: (args: Args, place: ToolPlace) => readonly ToolResource[];
  /** What of its arguments goes on record, where they may hold secrets; absent: all of them. */
  readonly shown?: (args: Args) => JsonValue;
  /** What a call cost besides itself, settled when it is over. */
  readonly cost?: (args: Args, result: Result) => Usage;
  readonly timeoutMs?: number;
  /** How many calls of it may be under way on this node at the same time. */
  readonly concurrency?: number;
  readonly run: (args: Args, context: ToolContext) => Result | Promise<Result>;
}

/** Something that processes can do to the world, used once it is registered. */
export interface Tool extends Omit<ToolSpec<never, never>, 'run'> {
  readonly run: (args: never, context: ToolContext) => unknown;
}

/**
 * A tool. Its arguments are what its input schema gives back, and its result must be JSON.
 *
 * @example
 * const add = defineTool({
 *   name: 'add', description: 'Adds two numbers.', effect: 'pure',
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   run: async ({ a, b }: { a: number; b: number }) => a + b,
 * });
 */
export function defineTool<Args = JsonValue, Result = JsonValue>(spec: ToolSpec<Args, Result>): Tool {
  return { ...spec };
}
