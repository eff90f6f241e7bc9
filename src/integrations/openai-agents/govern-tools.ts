import type { RunContext } from '@openai/agents-core';
import { InputError, type JsonObject, type JsonValue, type Kernel } from '../../index.js';
import { callAsValue } from '../shared/call-as-value.js';
import type { CallingFace } from '../shared/calling-face.js';
import { type GovernOptions, governedName, registerSdkTools, type SdkTool } from '../shared/govern-tools.js';
import type { GovernedTools } from '../shared/governed-tools.js';
import { SdkContexts } from '../shared/sdk-contexts.js';
import { toJson } from '../shared/to-json.js';
import { loadAgentsPackage } from './agents-package.js';
import { callOptions, page, parseArguments } from './tool-arguments.js';

/** A function tool of the OpenAI Agents SDK, such as `tool({ … })` makes. */
export interface AgentsTool {
  readonly type: 'function';
  readonly name: string;
  /** For models that choose between tools. */
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: object;
  /** The code of the tool. */
  invoke(runContext: never, input: string, details?: never): Promise<unknown>;
}

/** The call of a tool as the SDK makes it, but for its arguments and its signal. */
type SdkRun = (args: JsonValue, signal: AbortSignal) => Promise<unknown>;
const sdkRuns = new SdkContexts<SdkRun>();

/** The kernel's names of each tool that is governed: one for each kernel that it was registered with. */
const namesOfTools = new WeakMap<object, Set<string>>();
/** Tools that make their calls through a kernel themselves. */
const governedCopies = new WeakSet<object>();

/**
 * Registers function tools of the OpenAI Agents SDK with the kernel as `PREFIX.NAME`: a process needs `call` on
 * `tool:PREFIX.NAME`, and each call is charged and recorded. The result gives copies of the tools for one process; an agent of
 * `agentImage` has the tools themselves. A refusal is a value that the model reads. Throws INVALID_INPUT, CONFLICT for a
 * name that is taken; then none is registered.
 *
 * @example
 * const toolsOf = governTools(kernel, [search, publish], { prefix: 'web', effects: { search: 'pure' } });
 * const agent = new Agent({ name: 'writer', tools: toolsOf(ctx) });
 */
export function governTools<Tool extends AgentsTool>(
  kernel: Pick<Kernel, 'tools'>,
  tools: readonly Tool[],
  options: GovernOptions,
): GovernedTools<Tool> {
  for (const tool of tools) assertFunctionTool(tool);
  const registration = registerSdkTools(kernel, tools.map(toSdkTool), options, sdkRuns, page);
  const { prefix } = options;
  for (const tool of tools) rememberName(tool, governedName(prefix, tool.name));
  const toolsOf = (face: CallingFace) => tools.map((tool) => governedCopy(face, governedName(prefix, tool.name), tool));
  return Object.assign(toolsOf, { [Symbol.dispose]: () => registration[Symbol.dispose]() });
}

/** A copy of the tool whose calls go through the gate as calls of the process, by the kernel's name of the tool. */
export function governedCopy<Tool extends AgentsTool>(face: CallingFace, name: string, tool: Tool): Tool {
  const original = tool.invoke.bind(tool) as Invoke;
  const invoke: Invoke = async (runContext, input, details = {}) => {
    const { signal } = details;
    const run: SdkRun = (args, callSignal) => original(runContext, textOf(args), { ...details, signal: callSignal });
    const call = async () => sdkRuns.call(face, name, parseArguments(name, input), run, callOptions(signal));
    return (await callAsValue(face, call, signal)).value;
  };
  const members = Object.entries(Object.getOwnPropertyDescriptors(tool)).filter(([key]) => !ownLimits.has(key));
  const copy = Object.create(Object.getPrototypeOf(tool), Object.fromEntries(members)) as Tool;
  for (const symbol of Object.getOwnPropertySymbols(tool).filter((key) => key.description !== outputValidator)) {
    Object.defineProperty(copy, symbol, Object.getOwnPropertyDescriptor(tool, symbol) ?? {});
  }
  Object.defineProperty(copy, 'invoke', { value: invoke, enumerable: true, configurable: true, writable: true });
  governedCopies.add(copy);
  return copy;
}

/** The names under which the tool is registered with kernels. */
export function governedNames(tool: object): ReadonlySet<string> {
  return namesOfTools.get(tool) ?? new Set();
}

export function isGovernedCopy(tool: object): boolean {
  return governedCopies.has(tool);
}

/** Whether the tool is an agent: `agent.asTool()` makes it with a method of its own. */
export function isAgentTool(tool: object): boolean {
  return typeof (tool as { readonly on?: unknown }).on === 'function';
}

type Invoke = (runContext: unknown, input: string, details?: CallDetails) => Promise<unknown>;

interface CallDetails {
  readonly signal?: AbortSignal;
}

/**
 * Limits that the SDK would apply to the whole call, the wait for a person included. The tool applies them to its own code,
 * which the gate runs.
 */
const ownLimits: ReadonlySet<string> = new Set(['timeoutMs', 'timeoutBehavior', 'timeoutErrorFunction']);
/** The tool validates its result itself. A refusal would not fit the schema of results. */
const outputValidator = 'openai.agents.functionToolOutputValidator';

function toSdkTool(tool: AgentsTool): SdkTool<SdkRun> {
  return {
    name: tool.name,
    description: tool.description,
    input: tool.parameters as JsonObject,
    run: async (args, { signal }, run) => {
      const result = run === undefined ? invokeAlone(tool, args, signal) : run(args, signal);
      return toJson(await result);
    },
  };
}

/** A call that does not come from a run of the SDK has an empty context. */
async function invokeAlone(tool: AgentsTool, args: JsonValue, signal: AbortSignal): Promise<unknown> {
  const { RunContext: Context } = await loadAgentsPackage();
  const runContext: RunContext<unknown> = new Context();
  return (tool.invoke.bind(tool) as Invoke)(runContext, textOf(args), { signal });
}

/** Arguments as the SDK passes them. */
function textOf(args: JsonValue): string {
  return JSON.stringify(args);
}

function rememberName(tool: object, name: string): void {
  namesOfTools.set(tool, new Set(namesOfTools.get(tool)).add(name));
}

function assertFunctionTool(tool: AgentsTool): void {
  const { name, type, invoke } = tool;
  const isFunctionTool = type === 'function' && typeof invoke === 'function';
  const problem = isFunctionTool ? agentProblem(tool) : 'is not a function tool';
  if (problem === undefined) return;
  throw new InputError('INVALID_INPUT', `tools: ${String(name)} ${problem}.`, {
    facts: { path: 'tools', problem, tool: String(name) },
    hint: 'Govern what tool({ … }) makes. Give an agent as a tool to an agent of agentImage: it becomes a child process.',
  });
}

function agentProblem(tool: AgentsTool): string | undefined {
  return isAgentTool(tool) ? 'is an agent, which has tools and a model of its own' : undefined;
}
