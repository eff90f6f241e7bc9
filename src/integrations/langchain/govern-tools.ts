import type { StructuredToolInterface } from '@langchain/core/tools';
import type { JsonValue, Kernel } from '../../index.js';
import type { CallingFace } from '../shared/calling-face.js';
import { type GovernOptions, governedName, registerSdkTools, type SdkTool } from '../shared/govern-tools.js';
import type { GovernedTools } from '../shared/governed-tools.js';
import { toInputSchema } from '../shared/input-schema.js';
import { anySignal, callGoverned, kernelTools, type LangChainRun, langChainRuns } from './governed-call.js';
import { page } from './page.js';
import { toStoredResult } from './tool-message.js';

/** A tool of LangChain, such as `tool(…)` makes. */
export type LangChainTool = Pick<StructuredToolInterface, 'name' | 'description' | 'schema'> & {
  /** Runs the tool, as LangChain defines it. */
  invoke(input: never, config?: never): Promise<unknown>;
};

/**
 * Registers tools of LangChain with the kernel as `PREFIX.NAME`: from then on a process needs `call` on `tool:PREFIX.NAME`, and
 * each call is charged and recorded. An agent with `procuraMiddleware` gets the tools themselves; the result is for a graph
 * without it. Throws INVALID_INPUT, CONFLICT for a name that is taken; then none is registered.
 *
 * @example
 * governTools(kernel, [search, publish], { prefix: 'web', effects: { search: 'pure' } });
 */
export function governTools<const Tool extends LangChainTool>(
  kernel: Pick<Kernel, 'tools'>,
  tools: readonly Tool[],
  options: GovernOptions,
): GovernedTools<Tool> {
  const registration = registerSdkTools(kernel, tools.map(toSdkTool), options, langChainRuns, page);
  const { prefix } = options;
  const toolsOf = (face: CallingFace) => tools.map((tool) => governed(face, governedName(prefix, tool.name), tool));
  return Object.assign(toolsOf, { [Symbol.dispose]: () => registration[Symbol.dispose]() });
}

function toSdkTool(tool: LangChainTool): SdkTool<LangChainRun> {
  return {
    name: tool.name,
    description: tool.description,
    input: toInputSchema(tool.schema),
    run: async (args, { signal }, run) => {
      try {
        return toStoredResult(
          await (run === undefined ? tool.invoke(args as never, { signal } as never) : run(args, signal)),
        );
      } catch (error) {
        throw isInterrupt(error) ? interruptedCall() : error;
      }
    },
  };
}

/** Interrupts of LangGraph leave the graph, and the call with it: the kernel would record it as failed. */
function isInterrupt(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { is_bubble_up?: unknown }).is_bubble_up === true;
}

function interruptedCall(): Error {
  return new Error(
    'interrupt() has no effect in a governed tool: ask a person with ctx.ask, the tool human.ask or a rule',
  );
}

/** The same tool, whose calls go through the gate as calls of the process. */
function governed<Tool extends LangChainTool>(face: CallingFace, name: string, tool: Tool): Tool {
  const original: (input: unknown, config: object) => Promise<unknown> = tool.invoke.bind(tool) as never;
  const invoke = async (input: unknown, config: CallConfig = {}) => {
    const call = isToolCall(input) ? input : undefined;
    const args = call === undefined ? (input as JsonValue) : call.args;
    const run: LangChainRun = (finalArgs, signal) =>
      original(call === undefined ? finalArgs : { ...call, args: finalArgs }, {
        ...config,
        signal: anySignal(signal, config.signal),
      });
    const message = await callGoverned(face, name, { name: tool.name, id: call?.id, args }, run, config.signal);
    return call === undefined ? message.content : message;
  };
  const proxy = new Proxy(tool, { get: (target, key) => (key === 'invoke' ? invoke : Reflect.get(target, key)) });
  kernelTools.add(proxy);
  return proxy;
}

interface CallConfig {
  readonly signal?: AbortSignal | undefined;
}

interface ToolCall {
  readonly type: 'tool_call';
  readonly id?: string | undefined;
  readonly args: JsonValue;
}

function isToolCall(input: unknown): input is ToolCall {
  return typeof input === 'object' && input !== null && (input as Partial<ToolCall>).type === 'tool_call';
}
