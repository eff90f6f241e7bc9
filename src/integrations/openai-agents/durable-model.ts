import type { Model, ModelProvider, ModelRequest, ModelResponse, StreamEvent } from '@openai/agents-core';
import { z } from 'zod';
import { InputError, type Syscalls } from '../../index.js';
import { toModelResource } from '../shared/model-resource.js';
import { estimateTurn, runModelTurn, type TurnLimits } from '../shared/model-turn.js';
import { parseInput } from '../shared/parse-input.js';
import { type TurnOptions, turnOptions } from '../shared/turn-options.js';
import { loadAgentsPackage } from './agents-package.js';
import { fromStored, type StoredResponse, toAskedTurn, toStreamEvents } from './model-response.js';
import { toldResponse, toldResults } from './told-items.js';
import { page } from './tool-arguments.js';

/** Options of `durableModel`. */
export interface DurableModelOptions extends TurnOptions {
  /** The model's name in `model:openai-agents/NAME`; absent: its own name, else the name of its class. */
  readonly name?: string;
  /** Looks up a model that is given by its name; absent: the default provider of the SDK. */
  readonly modelProvider?: ModelProvider;
}

const isProvider = (value: unknown) => typeof (value as Partial<ModelProvider> | null)?.getModel === 'function';
export const durableModelOptions = turnOptions.extend({
  name: z.string().min(1).max(200).optional(),
  modelProvider: z.custom<ModelProvider>(isProvider, 'is no provider of models').optional(),
});

/**
 * The same model, each of whose turns needs `call` on `model:openai-agents/NAME`, is charged to the process, and is a step: a
 * rerun of the body gets the stored response. A stream gives the response when it is complete. A model is an object of the
 * SDK, or a name for a provider. Throws INVALID_INPUT; turns throw CAPABILITY_DENIED, BUDGET_EXCEEDED,
 * MODEL_FAILED, MISSING_PACKAGE.
 *
 * @example const agent = new Agent({ name: 'writer', model: durableModel(ctx, new OpenAIResponsesModel(client, 'gpt-5')) });
 */
export function durableModel(ctx: Syscalls, model: Model | string, options: DurableModelOptions = {}): Model {
  const parsed = parseInput(durableModelOptions, options, 'options', page);
  if (typeof model !== 'string' && !isModel(model)) throw notAModel();
  return new DurableModel(ctx, model, parsed.name ?? modelName(model), parsed);
}

/**
 * The resource that a process needs `call` on to ask the model: `model:openai-agents/NAME`. Models of providers tell their names;
 * any other has that of its class.
 *
 * @example modelResource('gpt-5') === 'model:openai-agents/gpt-5'
 */
export function modelResource(model: Model | string): string {
  return toModelResource('openai-agents', modelName(model));
}

export function isModel(model: unknown): model is Model {
  return typeof (model as Partial<Model> | null | undefined)?.getResponse === 'function';
}

/** The name of a model for the resource that a process needs `call` on. */
function modelName(model: Model | string): string {
  if (typeof model === 'string') return model;
  const { name, modelName, modelId, model: id, _model } = model as NamedModel;
  const own = [name, modelName, modelId, id, _model].find((text) => typeof text === 'string' && text !== '');
  return typeof own === 'string' ? own : model.constructor.name || 'model';
}

/** Members by which models of providers tell their name; the interface of the SDK has none. */
type NamedModel = { readonly [Member in 'name' | 'modelName' | 'modelId' | 'model' | '_model']?: unknown };

class DurableModel implements Model {
  private turns = 0;
  readonly supportsPromptModelSelection: boolean;

  constructor(
    private readonly ctx: Syscalls,
    private readonly source: Model | string,
    private readonly name: string,
    private readonly options: z.output<typeof durableModelOptions>,
  ) {
    this.supportsPromptModelSelection = typeof source !== 'string' && source.supportsPromptModelSelection === true;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const sdk = await loadAgentsPackage();
    const { systemInstructions, input, tools, handoffs, modelSettings } = request;
    const { cost, retry, record } = this.options;
    const asked = { systemInstructions, input, tools, handoffs };
    const { answer } = await runModelTurn<StoredResponse>(this.ctx, {
      name: `turn ${++this.turns}`,
      resource: toModelResource('openai-agents', this.name),
      estimated: estimateTurn(asked, modelSettings.maxTokens),
      retry,
      cost,
      request: asked,
      record,
      results: toldResults(input),
      tell: toldResponse,
      ask: async (limits) => toAskedTurn(await (await this.model()).getResponse(limitRequest(request, limits))),
    });
    return fromStored(sdk, answer);
  }

  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    const response = await this.getResponse(request);
    yield* toStreamEvents(response, `turn_${this.turns}`);
  }

  private async model(): Promise<Model> {
    if (typeof this.source !== 'string') return this.source;
    const { Runner } = await loadAgentsPackage();
    // A runner without options has the default provider of the SDK.
    const provider = this.options.modelProvider ?? new Runner().config.modelProvider;
    return provider.getModel(this.source);
  }
}

/** The request with a length of the answer that the budget allows, given up when the process is stopped. */
function limitRequest(request: ModelRequest, { signal, outputTokensMax }: TurnLimits): ModelRequest {
  const { modelSettings, signal: given } = request;
  const wanted = modelSettings.maxTokens ?? Number.POSITIVE_INFINITY;
  const settings =
    outputTokensMax === undefined || wanted <= outputTokensMax
      ? modelSettings
      : { ...modelSettings, maxTokens: outputTokensMax };
  const signals = given === undefined ? signal : AbortSignal.any([given, signal]);
  return { ...request, modelSettings: settings, signal: signals };
}

function notAModel(): InputError {
  return new InputError('INVALID_INPUT', 'model: is not a model of the OpenAI Agents SDK.', {
    facts: { path: 'model', problem: 'is not a model of the OpenAI Agents SDK' },
    hint: 'Give an object with getResponse and getStreamedResponse, or the name of a model of the default provider.',
  });
}
