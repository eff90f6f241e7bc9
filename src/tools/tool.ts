import type { Pid } from '../base/ids.js';
import type { JsonObject, JsonValue } from '../base/json.js';
import type { Decision } from '../capability/decision/decision.js';
import type { Right } from '../capability/resource/rights.js';
import type { Usage } from '../kernel/budget/budget.js';
import type { ProcessFace } from '../kernel/face/process-face.js';
import type { Effect } from '../kernel/face/process-tools.js';
import type { Schema } from '../runtime/image/schema.js';

/** A right that a call needs besides `call` on the tool itself. */
export interface ToolResource {
  readonly right: Right;
  /** Names one thing, such as `fs:src/main.ts`. */
  readonly resource: string;
  /** The arguments that constraints of capabilities on it are compared with. */
  readonly args?: JsonObject;
  /**
   * For a right that depends on what exists: the right that a refusal names where the process has neither, so that it does not
   * tell which one was needed.
   */
  readonly refusedAs?: Right;
}

/** The process and the folder that a call is made from. */
export interface ToolPlace {
  readonly pid: Pid;
  /** The working directory of the process, relative to the workspace. */
  readonly cwd: string;
  /** Absolute path of the folder that all files lie in, without links. */
  readonly workspace: string;
}

/** The second parameter of a tool's `run`. */
export interface ToolContext extends ToolPlace {
  /** Aborts when the process is stopped, the caller gives the call up, or the time is over. */
  readonly signal: AbortSignal;
  /** Counts from 1; more when an earlier run began the same call. */
  readonly attempt: number;
  /** The same whenever the call is repeated. */
  readonly idempotencyKey: string;
  /** Acts as the process that calls, with its authority. */
  readonly process: ProcessFace;
  /** The result of `resources` for this call; all of it is allowed. */
  readonly resources: readonly ToolResource[];
  /**
   * The files among the resources as absolute real paths, by the text of the resource. These are the paths that the
   * decision was made on, and the ones to open.
   */
  readonly files: ReadonlyMap<string, string>;
  /** Requires a right that was not known before, such as on the target of a redirect; recorded. Throws CAPABILITY_DENIED. */
  require(right: Right, resource: string, args?: JsonValue): Promise<Decision>;
  /**
   * Requires that the process may call this tool with other arguments as well, such as those of a redirect. Takes no further
   * use of the capability that the call was allowed by. Throws CAPABILITY_DENIED.
   */
  requireArgs(args: JsonValue): Promise<void>;
}

export interface ToolSpec<Args = JsonValue, Result = JsonValue> {
  readonly name: string;
  /** For those who choose between tools, often a model. */
  readonly description: string;
  readonly input: Schema;
  readonly output?: Schema;
  readonly effect: Effect;
  /** For arguments with which the tool has a weaker effect. */
  readonly effectOf?: (args: Args) => Effect;
  /**
   * The arguments that are paths of files, by name. A caller gives them relative to the working directory, or absolute. They are
   * decided on, recorded and run relative to the workspace and in canonical form, and what constraints accept must also be
   * where their links lead. Of other arguments the kernel does not know that they are paths: it compares them as they are.
   */
  readonly paths?: readonly string[];
  readonly resources?: (args: Args, place: ToolPlace) => readonly ToolResource[];
  /** The arguments as they are recorded, if they may hold secrets; absent: all of them. */
  readonly shown?: (args: Args) => JsonValue;
  /** The cost of a call besides the call itself, settled when it is over. */
  readonly cost?: (args: Args, result: Result) => Usage;
  readonly timeoutMs?: number;
  /**
   * The number of calls of it that may run on this node at the same time; absent: any number. A call that was given up counts
   * until its code has ended, for at most 5 s.
   */
  readonly concurrency?: number;
  readonly run: (args: Args, context: ToolContext) => Result | Promise<Result>;
}

/** Something that processes can do to the world. It can be called once it is registered. */
export interface Tool extends Omit<ToolSpec<never, never>, 'run'> {
  readonly run: (args: never, context: ToolContext) => unknown;
}

/**
 * A tool. Its arguments are what its input schema gives back. Its result must be JSON after `toJSON` of the objects in it and
 * without undefined members; for any other the call is TOOL_FAILED, but on record as `ok`, because the tool has run.
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
