import type { JsonValue, Kernel } from '../../index.js';
import { callAsValue } from '../shared/call-as-value.js';
import type { CallingFace } from '../shared/calling-face.js';
import { type GovernOptions, governedName, registerSdkTools, type SdkTool } from '../shared/govern-tools.js';
import { toInputSchema } from '../shared/input-schema.js';
import { SdkContexts } from '../shared/sdk-contexts.js';
import { toJson } from '../shared/to-json.js';
import type { ToolErrorValue } from '../shared/tool-error-value.js';

/** A tool of Mastra, such as `createTool({ … })` makes. */
export interface MastraTool {
  readonly id: string;
  /** For models that choose between tools. */
  readonly description?: string | undefined;
  /** The schema of the arguments. */
  readonly inputSchema?: unknown;
  /** The code of the tool. */
  readonly execute?: ((input: never, context: never) => Promise<unknown>) | undefined;
  /** Makes of a result what the model reads. */
  readonly toModelOutput?: ((output: never) => unknown) | undefined;
}

/** Tools by the names that the agent knows them by, or a list. */
export type MastraTools = readonly MastraTool[] | { readonly [name: string]: MastraTool };

/** Gives the tools of a process in the form that they were given in. Disposing of it removes the tools from the kernel. */
export interface GovernedMastraTools<Tools> extends Disposable {
  (face: CallingFace): Tools;
}

/** The call of a tool as Mastra makes it, but for its arguments and its signal. */
type MastraRun = (args: JsonValue, signal: AbortSignal) => Promise<unknown>;
const mastraRuns = new SdkContexts<MastraRun>();

/**
 * Registers tools of Mastra with the kernel as `PREFIX.ID`: a process needs `call` on `tool:PREFIX.ID`, and each call is charged
 * and recorded. The result gives copies of the tools for one process, whose refusals are values that the model reads. Throws
 * INVALID_INPUT, CONFLICT for an id that is taken; then none is registered.
 *
 * @example
 * const toolsOf = governTools(kernel, { search, publish }, { prefix: 'web', effects: { search: 'pure' } });
 * const agent = new Agent({ name: 'writer', model, instructions, tools: toolsOf(ctx) });
 */
export function governTools<Tools extends MastraTools>(
  kernel: Pick<Kernel, 'tools'>,
  tools: Tools,
  options: GovernOptions,
): GovernedMastraTools<Tools> {
  const sdkTools = Object.values(tools).map(toSdkTool);
  const registration = registerSdkTools(kernel, sdkTools, options, mastraRuns, 'docs/api/mastra.md');
  const { prefix } = options;
  const copyFor = (face: CallingFace) => (tool: MastraTool) => governedCopy(face, governedName(prefix, tool.id), tool);
  const toolsOf = (face: CallingFace) => mapTools(tools, copyFor(face)) as Tools;
  return Object.assign(toolsOf, { [Symbol.dispose]: () => registration[Symbol.dispose]() });
}

type Execute = (input: JsonValue, context?: CallContext) => Promise<unknown>;

interface CallContext {
  readonly abortSignal?: AbortSignal | undefined;
}

function toSdkTool(tool: MastraTool): SdkTool<MastraRun> {
  const { id, description = '', inputSchema } = tool;
  return {
    name: id,
    description,
    input: toInputSchema(inputSchema),
    run: async (args, { signal }, run) => toJson(await (run ?? runOf(tool, {}))(args, signal)),
  };
}

/** A copy of the tool, of the same class, whose calls go through the gate as calls of the process. */
function governedCopy(face: CallingFace, name: string, tool: MastraTool): MastraTool {
  const execute: Execute = async (input, context = {}) => {
    const { abortSignal } = context;
    const options = abortSignal === undefined ? {} : { signal: abortSignal };
    const call = () => mastraRuns.call(face, name, input, runOf(tool, context), options);
    return (await callAsValue(face, call, abortSignal)).value;
  };
  const copy: MastraTool = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool));
  const { toModelOutput } = tool;
  if (toModelOutput === undefined) return Object.assign(copy, { execute });
  // The tool knows its own results only.
  const showToModel = (output: never) => (isRefusal(output) ? { type: 'json', value: output } : toModelOutput(output));
  return Object.assign(copy, { execute, toModelOutput: showToModel });
}

function isRefusal(output: unknown): output is ToolErrorValue {
  const { error } = typeof output === 'object' && output !== null ? (output as Partial<ToolErrorValue>) : {};
  return typeof error?.code === 'string' && typeof error.hint === 'string';
}

function runOf(tool: MastraTool, context: CallContext): MastraRun {
  return async (args, signal) =>
    (tool.execute?.bind(tool) as Execute | undefined)?.(args, { ...context, abortSignal: signal });
}

function mapTools(tools: MastraTools, map: (tool: MastraTool) => MastraTool): MastraTools {
  if (Array.isArray(tools)) return tools.map(map);
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, map(tool)]));
}
