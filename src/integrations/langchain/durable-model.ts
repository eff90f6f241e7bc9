import type { BaseMessage, StoredMessage } from '@langchain/core/messages';
import type { z } from 'zod';
import { InputError, type Syscalls } from '../../index.js';
import { type AskedTurn, estimateTurn, runModelTurn } from '../shared/model-turn.js';
import { estimateTokens, tokenCount } from '../shared/model-usage.js';
import { parseInput } from '../shared/parse-input.js';
import { functionSchema, type TurnOptions, turnOptions } from '../shared/turn-options.js';
import { type CorePackage, loadCore } from './core-package.js';
import { anySignal } from './governed-call.js';
import { type LangChainModel, modelResource } from './model-name.js';
import { page } from './page.js';
import { toldMessage, toldResults } from './told-messages.js';

/** Options of turns of a model of LangChain. */
export interface LangChainTurnOptions extends TurnOptions {
  /**
   * The call options that limit an answer to a number of tokens, by the model's own name for it: then an answer is not longer
   * than the budget allows.
   *
   * @example limitOutput: (tokensMax) => ({ max_tokens: tokensMax })
   */
  readonly limitOutput?: (tokensMax: number) => object;
}

export const langChainTurnOptions = turnOptions.extend({
  limitOutput: functionSchema<NonNullable<LangChainTurnOptions['limitOutput']>>().optional(),
});

/**
 * The same model, whose answers are steps of the body: a rerun gets the stored ones, and neither asks nor pays again. Each needs
 * `call` on `modelResource(model)` and is charged. For graphs without `procuraMiddleware`, and for middleware that asks a model of
 * its own. A stream of it gives the whole answer at once. Throws INVALID_INPUT; when it is asked also CAPABILITY_DENIED,
 * BUDGET_EXCEEDED, MODEL_FAILED, MISSING_PACKAGE.
 *
 * @example summarizationMiddleware({ model: durableModel(ctx, small), trigger: { tokens: 4_000 } });
 */
export function durableModel<Model extends LangChainModel>(
  ctx: Syscalls,
  model: Model,
  options: LangChainTurnOptions = {},
): Model {
  const settings = parseInput(langChainTurnOptions, options, 'options', page);
  modelResource(model);
  return watchedModel(ctx, model, { ...settings, tools: [], onAsked: () => undefined });
}

/** The circumstances of the turns of one model. */
export interface TurnSettings extends z.output<typeof langChainTurnOptions> {
  /** The tools that are bound to it, which are part of the input. */
  readonly tools: readonly unknown[];
  /** Called for each question, also for one that is answered from the journal. */
  readonly onAsked: () => void;
}

/** `durableModel` with settings that are valid. */
export function watchedModel<Model extends LangChainModel>(ctx: Syscalls, model: Model, settings: TurnSettings): Model {
  const again = (inner: unknown, tools = settings.tools) =>
    isAskable(inner) ? watchedModel(ctx, inner, { ...settings, tools }) : inner;
  const invoke = (input: unknown, config?: CallConfig) => askDurably(ctx, model, settings, input, config);
  const members: Readonly<Record<string, unknown>> = {
    invoke,
    async *_streamIterator(input: unknown, config?: CallConfig) {
      const answer = await invoke(input, config);
      yield (await loadCore()).convertToChunk(answer);
    },
    bindTools: (tools: readonly unknown[], ...rest: unknown[]) =>
      again(method(model, 'bindTools')(tools, ...rest), tools),
    withConfig: (...args: unknown[]) => again(method(model, 'withConfig')(...args)),
    generate: refuseGenerate,
    generatePrompt: refuseGenerate,
  };
  return new Proxy(model, {
    get: (target, key, proxy) => {
      if (typeof key === 'string' && Object.hasOwn(members, key) && key in target) return members[key];
      const value: unknown = Reflect.get(target, key, target);
      // A binding and a sequence ask the models in them.
      if (key === 'bound') return again(value);
      if (key === 'steps' && Array.isArray(value)) return value.map((step) => (hasModel(step) ? again(step) : step));
      return value === target ? proxy : value;
    },
  });
}

interface CallConfig {
  readonly signal?: AbortSignal | undefined;
}

/** Asks the model as a step. */
async function askDurably(
  ctx: Syscalls,
  model: LangChainModel,
  { cost, retry, record, limitOutput, tools, onAsked }: TurnSettings,
  input: unknown,
  config: CallConfig = {},
): Promise<BaseMessage> {
  onAsked();
  const core = await loadCore();
  const chosen = await chosenModel(model, config);
  const messages = messagesIn(input);
  const request = [messages?.map(textOf) ?? input, toolTexts(core, tools)];
  const { answer } = await runModelTurn<StoredMessage>(ctx, {
    name: 'turn',
    resource: modelResource(chosen),
    estimated: estimateTurn(request, outputTokensMaxOf(chosen)),
    retry,
    cost,
    request,
    record,
    results: toldResults(messages ?? []),
    tell: toldMessage,
    ask: async ({ signal, outputTokensMax }) => {
      const limits = outputTokensMax === undefined ? {} : limitOutput?.(outputTokensMax);
      const callConfig = { ...config, ...limits, signal: anySignal(signal, config.signal) };
      return askedTurn((await chosen.invoke(input as never, callConfig as never)) as BaseMessage);
    },
  });
  return core.mapStoredMessageToChatMessage(answer);
}

/** A model that is chosen by the configuration of a call, as the one that is chosen. */
async function chosenModel(model: LangChainModel, config: CallConfig): Promise<LangChainModel> {
  const { _getModelInstance: choose } = model as {
    _getModelInstance?: (config: CallConfig) => Promise<LangChainModel>;
  };
  return typeof choose === 'function' ? choose.call(model, config) : model;
}

function askedTurn(message: BaseMessage): AskedTurn<StoredMessage> {
  const { input_tokens, output_tokens, total_tokens, input_token_details } = usageIn(message);
  const { type, data } = message.toDict();
  return {
    // As JSON: members of a class that JSON does not have are not part of an answer.
    answer: JSON.parse(JSON.stringify({ type, data })) as StoredMessage,
    reported: {
      inputTokens: input_tokens,
      outputTokens: output_tokens,
      totalTokens: total_tokens,
      inputTokenDetails: { cacheReadTokens: input_token_details?.cache_read },
    },
    outputTokens: estimateTokens(JSON.stringify(textOf(message))),
  };
}

/** Usage as models report it, which may hold anything. */
interface ReportedMessageUsage {
  readonly input_tokens?: unknown;
  readonly output_tokens?: unknown;
  readonly total_tokens?: unknown;
  readonly input_token_details?: { readonly cache_read?: unknown } | undefined;
}

function usageIn(message: object): ReportedMessageUsage {
  const { usage_metadata: usage } = message as { usage_metadata?: unknown };
  return typeof usage === 'object' && usage !== null ? usage : {};
}

/** The messages of an input; undefined for a text. */
function messagesIn(input: unknown): readonly unknown[] | undefined {
  if (Array.isArray(input)) return input;
  const { toChatMessages } = typeof input === 'object' && input !== null ? (input as { toChatMessages?: unknown }) : {};
  return typeof toChatMessages === 'function' ? (toChatMessages.call(input) as unknown[]) : undefined;
}

/** The parts of a message that a provider counts. */
function textOf(message: unknown): unknown {
  if (typeof message !== 'object' || message === null || !('content' in message)) return message;
  const { content, tool_calls } = message as {
    content: unknown;
    tool_calls?: readonly { name: string; args: unknown }[];
  };
  return [content, tool_calls?.map(({ name, args }) => [name, args])];
}

function toolTexts({ toJsonSchema }: CorePackage, tools: readonly unknown[]): unknown[] {
  return tools.map((tool) => {
    const { name, description, schema } = (tool ?? {}) as { name?: unknown; description?: unknown; schema?: unknown };
    return schema === undefined ? tool : [name, description, toJsonSchema(schema as never)];
  });
}

/** The longest answer that the model is made for, where it says so. */
function outputTokensMaxOf(model: unknown): number | undefined {
  const { maxTokens, maxOutputTokens } = model as { maxTokens?: unknown; maxOutputTokens?: unknown };
  return [maxTokens, maxOutputTokens].map(tokenCount).find((count) => count !== undefined);
}

function isAskable(value: unknown): value is LangChainModel {
  return typeof value === 'object' && value !== null && typeof (value as { invoke?: unknown }).invoke === 'function';
}

/** Whether it is a model, or has one bound. Parsers and prompts of a sequence are neither. */
function hasModel(step: unknown): boolean {
  return typeof step === 'object' && step !== null && ('_llmType' in step || 'bound' in step);
}

function method(target: object, name: string): (...args: unknown[]) => unknown {
  return (Reflect.get(target, name) as (...args: unknown[]) => unknown).bind(target);
}

/** Asks a model without the runnable interface, by which the kernel would not know of it. */
function refuseGenerate(): never {
  throw new InputError('INVALID_INPUT', 'A durable model is asked with invoke or stream.', {
    facts: { path: 'model', problem: 'generate is not durable' },
    hint: 'Call invoke for each of the prompts.',
  });
}
