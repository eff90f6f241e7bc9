import type { LanguageModel } from 'ai';
import { CapabilityError, InputError, type Syscalls } from '../../index.js';

/** A model of the AI SDK as an object. A name alone would be looked up in a registry that the whole program shares. */
export type AgentModel = Exclude<LanguageModel, string>;

/** A model, or a function that returns the model of a process. It must return the same one on every rerun of the body. */
export type ModelSource = AgentModel | ((ctx: Syscalls) => AgentModel | Promise<AgentModel>);

/** The model that `source` is or returns. Throws INVALID_INPUT where that is not a model. */
export async function modelFor(ctx: Syscalls, source: ModelSource): Promise<AgentModel> {
  const model = typeof source === 'function' ? await source(ctx) : source;
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
  return `model:${[family, ...modelId.split('/')].map(encodeSegment).join('/')}`;
}

function encodeSegment(text: string): string {
  if (text === '' || text === '.' || text === '..') return `%${text.replaceAll('.', '2E')}`;
  return text.toWellFormed().replaceAll(/[^A-Za-z0-9._:@+-]/gu, toPercentCode);
}

function toPercentCode(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/**
 * Checks again that the process may call the model: the turn may have begun long ago, and the capability may have been
 * revoked since. SPENT is no refusal, because the turn itself may have used the last use. Throws CAPABILITY_DENIED.
 */
export async function assertStillAllowed(ctx: Syscalls, resource: string): Promise<void> {
  const { effect, code, reason } = await ctx.capabilities.check('call', resource);
  if (effect !== 'deny' || code === 'SPENT') return;
  throw new CapabilityError('CAPABILITY_DENIED', `Process ${ctx.pid} may not call ${resource} any more.`, {
    facts: { pid: ctx.pid, right: 'call', resource, code },
    hint: `${reason} Grant it anew, or lift the rule.`,
  });
}
