import { AIMessage, type BaseMessage, createAgent, fakeModel, tool } from 'langchain';
import { z } from 'zod';
import {
  type CapabilitySpec,
  defineImage,
  type Image,
  type JsonValue,
  type Kernel,
  type KernelOptions,
  type Pid,
  type SpawnSpec,
} from '../../../src/index.js';
import {
  governTools,
  invokeAgent,
  type LangChainModel,
  type LangChainTool,
  type MiddlewareOptions,
  procuraMiddleware,
  toolsFor,
} from '../../../src/integrations/langchain/index.js';
import { openKernel } from '../kernel.js';

export const callFake: CapabilitySpec = { resource: 'model:langchain/fake-model-builder', rights: ['call'] };
export const callAllTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'] };

/** A tool of LangChain that counts its calls. */
export function recordingTool(name: string, done: string[], run: (text: string) => unknown = (text) => `did ${text}`) {
  return tool(
    async ({ text }: { text: string }) => {
      done.push(`${name} ${text}`);
      return (await run(text)) as string;
    },
    { name, description: `Does ${name}.`, schema: z.object({ text: z.string() }) },
  );
}

/** A turn of the model: a text, or calls of tools with their `text`, and the usage that it reports. */
export type Turn = string | { readonly calls: readonly (readonly [name: string, args: Record<string, unknown>])[] };

/**
 * The model of LangChain's own test kit. It answers by the number of answers that the conversation holds, so that a new one goes
 * on where another was.
 */
export function conversationModel(turns: readonly Turn[], usage: readonly [number, number] | undefined = [10, 5]) {
  const model = fakeModel();
  for (let index = 0; index < 16; index++) {
    model.respond((messages: BaseMessage[]) => {
      const number = messages.filter((message) => AIMessage.isInstance(message)).length;
      const turn = turns[number];
      return turn === undefined ? new Error(`there is no turn ${number}`) : toMessage(turn, number, usage);
    });
  }
  return model;
}

function toMessage(turn: Turn, number: number, usage: readonly [number, number] | undefined): AIMessage {
  const calls = typeof turn === 'string' ? [] : turn.calls;
  const tool_calls = calls.map(([name, args], index) => ({ name, args, id: `call-${number}-${index}` }));
  const fields = { content: typeof turn === 'string' ? turn : '', tool_calls };
  if (usage === undefined) return new AIMessage(fields);
  const [input_tokens, output_tokens] = usage;
  const total_tokens = input_tokens + output_tokens;
  // The types of the constructor do not know of it.
  const reported: object = { usage_metadata: { input_tokens, output_tokens, total_tokens } };
  return new AIMessage({ ...fields, ...reported });
}

export interface AgentSetup {
  readonly model: LangChainModel;
  readonly tools?: readonly LangChainTool[];
  /** Gives the agent the tools of the kernel, too. */
  readonly kernelTools?: readonly string[];
  readonly options?: Partial<MiddlewareOptions>;
  /** Does not register the tools with the kernel. */
  readonly ungoverned?: boolean;
}

/** An image whose body is an agent of LangChain. Its result is the text of every message. */
export function langChainImage({ model, tools = [], kernelTools, options }: AgentSetup): Image<JsonValue, string[]> {
  return defineImage({
    name: 'agent',
    run: async (ctx) => {
      const own = kernelTools === undefined ? [] : await toolsFor(ctx, { only: kernelTools });
      const agent = createAgent({
        model: model as never,
        tools: [...tools, ...own] as never[],
        middleware: [procuraMiddleware(ctx, { prefix: 'lc', ...options })],
      });
      const { messages } = await invokeAgent(ctx, agent, { messages: [{ role: 'user', content: 'Begin.' }] });
      return (messages as BaseMessage[]).map((message) => message.text);
    },
  });
}

/** A kernel with the tools governed as `lc.NAME`, and an agent that may do everything unless the spec says otherwise. */
export async function startLangChain(
  setup: AgentSetup,
  spawnSpec: SpawnSpec = {},
  options: KernelOptions = {},
): Promise<{ kernel: Kernel; pid: Pid }> {
  const kernel = await openKernel({ images: [langChainImage(setup)], ...options });
  if (setup.ungoverned !== true) governTools(kernel, setup.tools ?? [], { prefix: 'lc' });
  const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [callFake, callAllTools], ...spawnSpec });
  return { kernel, pid };
}
