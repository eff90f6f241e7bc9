import { type AssistantModelMessage, generateText, type ModelMessage } from 'ai';
import { type JsonValue, KernelError, type Syscalls } from '../../index.js';
import { toolNames } from '../tool-names.js';
import { type AgentModel, stillAllowed } from './agent-model.js';
import type { Agent } from './agent-spec.js';
import { modelFailed, modelRetry } from './model-error.js';
import { type ModelUsage, reportedUsage } from './model-usage.js';
import { shownTools } from './tools-for.js';
import { wellFormed } from './well-formed.js';

/** A call of a tool that the model wants. */
export interface WantedCall {
  /** By which its result is told to the model. */
  readonly id: string;
  /** What the model calls it. */
  readonly alias: string;
  /** What the kernel calls it. */
  readonly tool: string;
  readonly input: JsonValue;
}

/** What a model said in one turn, as it is kept. */
export interface Turn {
  readonly text: string;
  readonly finishReason: string;
  readonly calls: readonly WantedCall[];
  readonly messages: readonly AssistantModelMessage[];
  readonly usage: ModelUsage;
}

/** What a turn is asked with. */
export interface Question {
  readonly model: AgentModel;
  readonly resource: string;
  readonly messages: readonly ModelMessage[];
  readonly estimated: ModelUsage;
}

/** Asks the model once. Its answer is kept, and is not asked for again. Throws MODEL_FAILED. */
export function askModel(ctx: Syscalls, agent: Agent, name: string, question: Question): Promise<Turn> {
  const retry = modelRetry(agent.retry);
  return ctx.step(name, () => answered(ctx, agent, question), { retry, effect: 'idempotent' });
}

async function answered(
  ctx: Syscalls,
  agent: Agent,
  { model, resource, messages, estimated }: Question,
): Promise<Turn> {
  await stillAllowed(ctx, resource);
  const infos = await ctx.tools.list();
  const { system, maxOutputTokens, temperature } = agent;
  try {
    const said = await generateText({
      model,
      messages: [...messages],
      ...(infos.length === 0 ? {} : { tools: shownTools(infos) }),
      ...(system === undefined ? {} : { system }),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      ...(temperature === undefined ? {} : { temperature }),
      abortSignal: ctx.signal,
      // The step tries again, and its waits outlive the program.
      maxRetries: 0,
    });
    return wellFormed(turnOf(said, toolNames(infos), estimated));
  } catch (error) {
    if (ctx.signal.aborted) throw ctx.signal.reason;
    throw error instanceof KernelError ? error : modelFailed(resource, error);
  }
}

type Said = Pick<
  Awaited<ReturnType<typeof generateText>>,
  'text' | 'finishReason' | 'toolCalls' | 'response' | 'usage'
>;

/** Reasons to stop in the middle: what was called then may be half a call. */
const cut: ReadonlySet<string> = new Set(['length', 'content-filter', 'error']);

function turnOf(said: Said, names: ReadonlyMap<string, string>, estimated: ModelUsage): Turn {
  const { text, finishReason, toolCalls, response, usage } = said;
  const calls = toolCalls.filter(({ providerExecuted }) => providerExecuted !== true);
  return {
    text,
    finishReason,
    calls: cut.has(finishReason) ? [] : calls.map((call) => wanted(call, names)),
    messages: response.messages.flatMap((message) => (message.role === 'assistant' ? [withoutFiles(message)] : [])),
    usage: reportedUsage(usage, estimated),
  };
}

/** A name that is none of its tools stays as it is, and is refused by the kernel. */
function wanted(call: Said['toolCalls'][number], names: ReadonlyMap<string, string>): WantedCall {
  const { toolCallId: id, toolName: alias, input } = call;
  return { id, alias, tool: names.get(alias) ?? alias, input: (input ?? {}) as JsonValue };
}

/** Files that a model made are not part of what agents say to each other. */
function withoutFiles(message: AssistantModelMessage): AssistantModelMessage {
  const { content } = message;
  return typeof content === 'string' ? message : { ...message, content: content.filter(({ type }) => type !== 'file') };
}
