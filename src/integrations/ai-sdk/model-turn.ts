import type { AssistantModelMessage, ModelMessage } from 'ai';
import { type JsonValue, KernelError, type Syscalls } from '../../index.js';
import { toolNames } from '../tool-names.js';
import { type AgentModel, assertStillAllowed } from './agent-model.js';
import type { Agent } from './agent-spec.js';
import { type AiPackage, loadAiPackage } from './ai-package.js';
import { countsIn, measureUsage } from './measured-model.js';
import { modelFailed, modelRetry } from './model-error.js';
import { estimateTokens, type ModelUsage, noUsage, sumUsage, usageFrom } from './model-usage.js';
import { toolDeclarations } from './tools-for.js';
import type { Transcript } from './transcript.js';

/** A tool call that the model requests. */
export interface RequestedCall {
  /** The model's id of the call; its result is returned under it. */
  readonly id: string;
  /** The model's name for the tool. */
  readonly alias: string;
  /** The kernel's name for the tool. */
  readonly tool: string;
  readonly input: JsonValue;
}

/** The model's answer in one turn, as the step stores it. */
export interface Turn {
  readonly text: string;
  readonly finishReason: string;
  readonly calls: readonly RequestedCall[];
  readonly messages: readonly AssistantModelMessage[];
  readonly usage: ModelUsage;
}

/** The input of one turn. */
export interface TurnRequest {
  readonly model: AgentModel;
  readonly resource: string;
  readonly messages: readonly ModelMessage[];
  readonly estimated: ModelUsage;
  readonly transcript: Transcript;
}

/** Asks the model once, as a step: a rerun gets the stored answer. Throws MODEL_FAILED, with the usage of all attempts. */
export function askModel(ctx: Syscalls, agent: Agent, stepName: string, request: TurnRequest): Promise<Turn> {
  const retry = modelRetry(agent.retry);
  const { messages, transcript } = request;
  let failedAttempts = noUsage;
  const attempt = async () => {
    await transcript.save(messages);
    const outcome = await generateTurn(ctx, agent, request);
    if (!('error' in outcome)) {
      await transcript.save([...messages, ...outcome.messages]);
      return { ...outcome, usage: sumUsage(failedAttempts, outcome.usage) };
    }
    failedAttempts = sumUsage(failedAttempts, outcome.used);
    throw modelFailed(request.resource, outcome.error, failedAttempts);
  };
  return ctx.step(stepName, attempt, { retry, effect: 'idempotent' });
}

/** The error of a failed attempt, and what it may have used. */
interface FailedAttempt {
  readonly error: unknown;
  readonly used: ModelUsage;
}

async function generateTurn(
  ctx: Syscalls,
  agent: Agent,
  { model, resource, messages, estimated }: TurnRequest,
): Promise<Turn | FailedAttempt> {
  await assertStillAllowed(ctx, resource);
  const infos = await ctx.tools.list();
  const sdk = await loadAiPackage();
  const { system, maxOutputTokens, temperature } = agent;
  const measured = measureUsage(model);
  try {
    const answer = await sdk.generateText({
      model: measured.model,
      messages: [...messages],
      ...(infos.length === 0 ? {} : { tools: toolDeclarations(sdk, infos) }),
      ...(system === undefined ? {} : { system }),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      ...(temperature === undefined ? {} : { temperature }),
      abortSignal: ctx.signal,
      // The step retries, and its waits survive a restart of the program.
      maxRetries: 0,
    });
    return toStorable(turnOf(answer, toolNames(infos), estimated));
  } catch (error) {
    if (ctx.signal.aborted) throw ctx.signal.reason;
    if (error instanceof KernelError) throw error;
    if (!measured.wasAsked()) return { error, used: noUsage };
    const reported = measured.reported();
    return { error, used: reported === undefined ? usageOfFailure(error, estimated) : usageFrom(reported, estimated) };
  }
}

/**
 * The usage that the error reports. Without a report: nothing when the provider answered with an error status, since it sent
 * no answer of the model; otherwise nobody knows, and the estimate counts.
 */
function usageOfFailure(error: unknown, estimated: ModelUsage): ModelUsage {
  const { usage, statusCode } = typeof error === 'object' && error !== null ? (error as FailedRequest) : {};
  if (usage !== undefined) return usageFrom(countsIn(usage), estimated);
  return typeof statusCode === 'number' && statusCode >= 400 ? noUsage : estimated;
}

/** Members that errors of providers may have. */
interface FailedRequest {
  readonly usage?: unknown;
  readonly statusCode?: unknown;
}

type ModelAnswer = Pick<
  Awaited<ReturnType<AiPackage['generateText']>>,
  'text' | 'finishReason' | 'toolCalls' | 'response' | 'usage'
>;

/** Finish reasons after which the last tool call may be incomplete. */
const truncatingReasons: ReadonlySet<string> = new Set(['length', 'content-filter', 'error']);

function turnOf(answer: ModelAnswer, names: ReadonlyMap<string, string>, estimated: ModelUsage): Turn {
  const { text, finishReason, toolCalls, response, usage } = answer;
  const calls = toolCalls.filter(({ providerExecuted }) => providerExecuted !== true);
  return {
    text,
    finishReason,
    calls: truncatingReasons.has(finishReason) ? [] : calls.map((call) => toRequestedCall(call, names)),
    messages: response.messages.flatMap((message) => (message.role === 'assistant' ? [removeFiles(message)] : [])),
    usage: usageFrom(usage, { ...estimated, outputTokens: Math.max(estimated.outputTokens, answerTokens(answer)) }),
  };
}

/** A rough number of tokens of the answer itself. */
function answerTokens({ text, toolCalls }: ModelAnswer): number {
  return (
    estimateTokens(text) + toolCalls.reduce((sum, { input }) => sum + estimateTokens(JSON.stringify(input) ?? ''), 0)
  );
}

/** A name that belongs to none of the tools is passed on unchanged, and the kernel refuses the call. */
function toRequestedCall(call: ModelAnswer['toolCalls'][number], names: ReadonlyMap<string, string>): RequestedCall {
  const { toolCallId: id, toolName: alias, input } = call;
  return { id, alias, tool: names.get(alias) ?? alias, input: (input ?? {}) as JsonValue };
}

/** Parts with the data of a file. `reasoning-file` exists since version 7 of the SDK. */
const fileParts: ReadonlySet<string> = new Set(['file', 'reasoning-file']);

/** Files that the model generated are not sent back to it, nor stored in the transcript. */
function removeFiles(message: AssistantModelMessage): AssistantModelMessage {
  const { content } = message;
  return typeof content === 'string'
    ? message
    : { ...message, content: content.filter(({ type }) => !fileParts.has(type)) };
}

/** Deeper than the input of any useful call. */
const depthMax = 48;

/**
 * A copy that can be stored. Models produce any data, including lone surrogates and objects nested without limit: texts are
 * made well-formed, and values below `depthMax` become null.
 */
function toStorable<T>(value: T): T {
  return copyStorable(value, 0) as T;
}

function copyStorable(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= depthMax) return null;
  if (Array.isArray(value)) return value.map((item) => copyStorable(item, depth + 1) ?? null);
  const members = Object.entries(value).filter(([key, member]) => member !== undefined && key !== '__proto__');
  return Object.fromEntries(members.map(([key, member]) => [key.toWellFormed(), copyStorable(member, depth + 1)]));
}
