import type { Pid } from '../base/ids.js';
import type { JsonCompatible, JsonObject, JsonValue, ReadonlyJson } from '../base/json.js';
import type { Schema, SchemaInput, SchemaOutput } from '../base/schema/schema-types.js';
import type { Decision } from '../capability/decision/decision.js';
import type { Right } from '../capability/resource/rights.js';
import type { Usage } from '../kernel/budget/budget.js';
import type { ProcessFace } from '../kernel/face/process-face.js';
import type { Effect, TypedTool } from '../kernel/face/process-tools.js';

/** A right that a call needs besides `call` on the tool itself. */
export interface ToolResource {
  /** The right that is needed. */
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
  /** The process that calls. */
  readonly pid: Pid;
  /** The working directory of the process, relative to the workspace. */
  readonly cwd: string;
  /** Absolute path of the folder that all files lie in, without links. */
  readonly workspace: string;
}

/** What `needsApproval` of a tool is told beside the arguments. */
export interface ApprovalFacts extends ToolPlace {
  /** The image of the process, as `name@version`. */
  readonly image: string;
  /** The effect of a call with these arguments. */
  readonly effect: Effect;
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

/** The spec of a tool. `Args` is what its functions get: the output of the input schema. */
export interface ToolSpec<Args = JsonValue, Result = JsonValue> extends ToolParts<Args, Result> {
  /** Validates the arguments of a call; `run` gets its output. Models see it as JSON Schema. */
  readonly input: Schema;
  /** Validates the result of a call; absent: any JSON. */
  readonly output?: Schema;
}

/** A tool but for the schemas that its types come from. */
interface ToolParts<Args, Result> {
  /** Unique in the kernel, such as `search` or `mail.send`. */
  readonly name: string;
  /** For those who choose between tools, often a model. */
  readonly description: string;
  /** The effect of a repeated call. */
  readonly effect: Effect;
  /** For arguments with which the tool has a weaker effect. */
  readonly effectOf?: (args: Args) => Effect;
  /**
   * The arguments that are paths of files, by name. A caller gives them relative to the working directory, or absolute. They are
   * decided on, recorded and run relative to the workspace and in canonical form, and what constraints accept must also be
   * where their links lead. Of other arguments the kernel does not know that they are paths: it compares them as they are.
   */
  readonly paths?: readonly string[];
  /** The rights that a call needs besides `call` on the tool itself. */
  readonly resources?: (args: Args, place: ToolPlace) => readonly ToolResource[];
  /** The arguments as they are recorded, if they may hold secrets; absent: all of them. */
  readonly shown?: (args: Args) => JsonValue;
  /** The cost of a call besides the call itself, settled when it is over. */
  readonly cost?: (args: Args, result: Result) => Usage;
  /**
   * Whether a person has to approve a call, as if a rule of the host asked: always, or when the function says so. A capability
   * is needed as ever.
   */
  readonly needsApproval?: true | ((args: Args, facts: ApprovalFacts) => boolean);
  /** How long such a question waits for its answer; the call is denied then. Absent: without limit. */
  readonly expiresInMs?: number;
  /** The time limit of a call, with the wait for its place. */
  readonly timeoutMs?: number;
  /**
   * The number of calls of it that may run on this node at the same time; absent: any number. A call that was given up counts
   * until its code has ended, for at most 5 s.
   */
  readonly concurrency?: number;
  /** The code of the tool. It gets the output of the input schema. */
  readonly run: (args: Args, context: ToolContext) => Result | Promise<Result>;
}

/**
 * Something that processes can do to the world. It can be called once it is registered. `Input` is what its functions get,
 * `Output` the type of its results, `Args` what a caller gives.
 */
export interface Tool<Input = unknown, Output = unknown, Args = Input>
  extends Omit<ToolSpec<never, never>, 'run'>,
    TypedTool<Args, Output> {
  /** The code of the tool. */
  readonly run: (args: never, context: ToolContext) => unknown;
  /** Carries the types; never present at run time. */
  readonly '~types'?: { readonly input: Input; readonly output: Output; readonly args: Args };
}

/** The spec of an external tool. */
export interface ExternalToolSpec<Args = JsonValue>
  extends Pick<
    ToolSpec<Args>,
    'name' | 'description' | 'effect' | 'input' | 'resources' | 'timeoutMs' | 'needsApproval' | 'expiresInMs'
  > {}

/** A tool whose work is done outside the kernel. Its calls are made with `tools.open`. */
export interface ExternalTool<Input = unknown, Args = Input>
  extends Omit<ExternalToolSpec<never>, 'resources' | 'needsApproval'>,
    TypedTool<Args, JsonValue> {
  /** The rights that a call needs besides `call` on the tool itself. */
  readonly resources?: (args: never, place: ToolPlace) => readonly ToolResource[];
  /** Whether a person has to approve a call. */
  readonly needsApproval?: true | ((args: never, facts: ApprovalFacts) => boolean);
  /** Tells it from tools that the kernel runs. */
  readonly external: true;
  /** Carries the types; never present at run time. */
  readonly '~types'?: { readonly input: Input; readonly output: JsonValue; readonly args: Args };
}

/** Nothing for a tool whose results are JSON; for any other, one that it does not fit. */
type JsonResults<Result> = undefined extends Result
  ? unknown
  : [Result] extends [JsonCompatible<Result>]
    ? unknown
    : { readonly run: (args: never, context: ToolContext) => JsonCompatible<Result> | Promise<JsonCompatible<Result>> };

/**
 * A tool. Its arguments are what its input schema gives back. Its result must be JSON after `toJSON` of the objects in it and
 * without undefined members; for any other the call is TOOL_FAILED, but on record as `ok`, because the tool has run.
 *
 * @example
 * const add = defineTool({
 *   name: 'add', description: 'Adds two numbers.', effect: 'pure',
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   run: async ({ a, b }) => a + b,
 * });
 * const sum = await kernel.as(pid).tools.call(add, { a: 1, b: 2 }); // a number
 */
export function defineTool<const In extends Schema, Result>(
  spec: ToolParts<SchemaOutput<In>, Result> & { readonly input: In; readonly output?: never } & JsonResults<Result>,
): Tool<SchemaOutput<In>, Result, SchemaInput<In>>;
export function defineTool<
  const In extends Schema,
  const Out extends Schema,
  const Result extends ReadonlyJson<SchemaInput<Out>>,
>(
  spec: ToolParts<SchemaOutput<In>, Result> & { readonly input: In; readonly output: Out },
): Tool<SchemaOutput<In>, SchemaOutput<Out>, SchemaInput<In>>;
/** With the types of arguments and result named. */
export function defineTool<Args = never, Result = JsonValue>(
  spec: [Args] extends [never] ? never : ToolSpec<NoInfer<Args>, NoInfer<Result>>,
): Tool<Args, Result>;
export function defineTool(spec: object): Tool {
  return { ...(spec as Tool) };
}

/**
 * A tool that somebody else runs: an SDK, an editor, a person. The kernel decides, charges and records its calls, which are made
 * with `tools.open`, and has no code for them. It can be opened once it is registered.
 *
 * @example
 * const edit = externalTool({
 *   name: 'editor.apply', description: 'Applies an edit.', effect: 'once', input: z.object({ file: z.string() }),
 * });
 */
export function externalTool<const In extends Schema>(
  spec: Omit<ExternalToolSpec<SchemaOutput<In>>, 'input'> & { readonly input: In },
): ExternalTool<SchemaOutput<In>, SchemaInput<In>> {
  return { ...(spec as object as ExternalTool<SchemaOutput<In>, SchemaInput<In>>), external: true };
}
