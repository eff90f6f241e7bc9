import type { AgentMiddleware, ToolMessage } from 'langchain';
import { z } from 'zod';
import { InputError, type JsonValue, type Syscalls } from '../../index.js';
import { governedName, parsePrefix } from '../shared/govern-tools.js';
import { parseInput } from '../shared/parse-input.js';
import { type LangChainTurnOptions, langChainTurnOptions, watchedModel } from './durable-model.js';
import { anySignal, callGoverned, kernelTools, type LangChainRun } from './governed-call.js';
import { page } from './page.js';

/** Options of `procuraMiddleware`. */
export interface MiddlewareOptions extends LangChainTurnOptions {
  /** The prefix that `governTools` was given. */
  readonly prefix: string;
  /**
   * Tools that have no effect but on the state of the agent, such as `write_todos` and handoffs, by LangChain's names. They are
   * not governed, and a rerun of the body calls them again.
   */
  readonly stateTools?: readonly string[];
}

const middlewareOptions = langChainTurnOptions.extend({
  prefix: z.string(),
  stateTools: z.array(z.string()).default([]),
});

type WrapModelCall = NonNullable<AgentMiddleware['wrapModelCall']>;
type WrapToolCall = NonNullable<AgentMiddleware['wrapToolCall']>;

/**
 * Makes the turns of an agent steps of the body, and its tool calls calls of the process: a rerun is answered from the journal, so
 * that after a crash nothing is asked, done or paid twice. A turn needs `call` on `model:langchain/NAME`; a tool must be one of
 * `toolsFor`, or be registered by `governTools` with the same prefix, and any other is refused. A refusal is a message that the
 * model reads; an error that ends the run is thrown.
 *
 * It belongs at the end of the list: middleware behind it would stand between the journal and the model. Throws INVALID_INPUT.
 *
 * @example
 * const agent = createAgent({ model, tools: [search], middleware: [procuraMiddleware(ctx, { prefix: 'web' })] });
 * await agent.invoke({ messages }, { signal: ctx.signal });
 */
export function procuraMiddleware(ctx: Syscalls, options: MiddlewareOptions): AgentMiddleware<undefined, undefined> {
  const { prefix: given, stateTools, ...turns } = parseInput(middlewareOptions, options, 'options', page);
  const prefix = parsePrefix(given, page);

  const wrapModelCall: WrapModelCall = async (request, handler) => {
    let wasAsked = false;
    const onAsked = () => {
      wasAsked = true;
    };
    const model = watchedModel(ctx, request.model, { ...turns, tools: [], onAsked });
    const response = await handler({ ...request, model });
    if (!wasAsked) throw replacedModel();
    return response;
  };

  const wrapToolCall: WrapToolCall = async (request, handler) => {
    const { toolCall, tool, runtime } = request;
    if (isKernelTool(tool) || stateTools.includes(toolCall.name)) return handler(request);
    const run: LangChainRun = async (args, signal) =>
      handler({
        ...request,
        toolCall: { ...toolCall, args: args as Record<string, unknown> },
        tool: tool === undefined ? tool : withSignal(tool, signal),
      });
    const call = { name: toolCall.name, id: toolCall.id, args: toolCall.args as JsonValue };
    const name = governedName(prefix, toolCall.name);
    return (await callGoverned(ctx, name, call, run, runtime.signal)) as ToolMessage;
  };

  return { [brand]: true, name: 'procura', wrapModelCall, wrapToolCall } as AgentMiddleware<undefined, undefined>;
}

/** Tells middleware from other objects; `createMiddleware` sets it. */
const brand = Symbol.for('AgentMiddleware');

function isKernelTool(tool: object | undefined): boolean {
  return tool !== undefined && kernelTools.has(tool);
}

/** The tool, given up also when the kernel gives the call up. */
function withSignal<Tool extends object>(tool: Tool, signal: AbortSignal): Tool {
  const { invoke } = tool as { invoke?: (input: unknown, config: { signal?: AbortSignal }) => Promise<unknown> };
  if (typeof invoke !== 'function') return tool;
  const invokeWithSignal: typeof invoke = (input, config) =>
    invoke.call(tool, input, { ...config, signal: anySignal(signal, config.signal) });
  return new Proxy(tool, {
    get: (target, key) => (key === 'invoke' ? invokeWithSignal : Reflect.get(target, key, target)),
  });
}

function replacedModel(): InputError {
  return new InputError(
    'INVALID_INPUT',
    'Middleware behind procuraMiddleware has answered instead of the model, or replaced it.',
    {
      facts: { path: 'middleware', problem: 'the model was not asked through procuraMiddleware' },
      hint: 'Put procuraMiddleware at the end of the list of middleware.',
    },
  );
}
