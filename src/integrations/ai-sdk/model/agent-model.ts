import type { LanguageModel } from 'ai';
import { InputError, type Syscalls } from '../../../index.js';
import { toModelResource } from '../../shared/model-resource.js';

/** A model of the AI SDK as an object. A name alone would be looked up in a registry that the whole program shares. */
export type AgentModel = Exclude<LanguageModel, string>;

/** A model, or a function that returns the model of a process. It must return the same one on every rerun of the body. */
export type ModelSource = AgentModel | ((ctx: Syscalls) => AgentModel | Promise<AgentModel>);

/** The model that `source` is or returns. Throws INVALID_INPUT where that is not a model. */
export async function modelFor(ctx: Syscalls, source: ModelSource): Promise<AgentModel> {
  return assertModel(typeof source === 'function' ? await source(ctx) : source);
}

/** The model, if it is one. Throws INVALID_INPUT. */
export function assertModel(model: unknown): AgentModel {
  if (isModel(model)) return model;
  throw new InputError('INVALID_INPUT', 'model: is not a language model of the AI SDK.', {
    facts: { path: 'model', problem: 'is not a language model of the AI SDK' },
    hint: 'Give what a provider makes, such as openai("gpt-5"), or a function that answers with it.',
  });
}

export function isModel(model: unknown): model is AgentModel {
  if (typeof model !== 'object' || model === null) return false;
  const { provider, modelId, doGenerate } = model as Partial<AgentModel>;
  return typeof provider === 'string' && typeof modelId === 'string' && typeof doGenerate === 'function';
}

/**
 * The resource that a process needs `call` on to ask a model. The provider's name ends at its first dot, and characters that
 * a resource cannot have are written as percent codes.
 *
 * @example modelResource(openai('gpt-5')) === 'model:openai/gpt-5'
 */
export function modelResource({ provider, modelId }: Pick<AgentModel, 'provider' | 'modelId'>): string {
  const [family = ''] = provider.split('.');
  return toModelResource(family, modelId);
}
