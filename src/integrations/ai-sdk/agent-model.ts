import type { LanguageModel } from 'ai';
import { CapabilityError, InputError, type Syscalls } from '../../index.js';

/** A model of the AI SDK as an object. A name alone would be looked up in a registry that is everybody's. */
export type AgentModel = Exclude<LanguageModel, string>;

/** A model, or how to find the one of a process. It has to be the same one whenever the body is run again. */
export type ModelSource = AgentModel | ((ctx: Syscalls) => AgentModel | Promise<AgentModel>);

/** Throws INVALID_INPUT for what is not a model. */
export async function modelFor(ctx: Syscalls, source: ModelSource): Promise<AgentModel> {
  const model = typeof source === 'function' ? await source(ctx) : source;
  if (isModel(model)) return model;
  throw new InputError('INVALID_INPUT', 'model: is not a language model of the AI SDK.', {
    facts: { path: 'model' },
    hint: 'Give what a provider makes, such as openai("gpt-5"), or a function that answers with it.',
  });
}

export function isModel(model: unknown): model is AgentModel {
  if (typeof model !== 'object' || model === null) return false;
  const { provider, modelId, doGenerate } = model as Partial<AgentModel>;
  return typeof provider === 'string' && typeof modelId === 'string' && typeof doGenerate === 'function';
}

/**
 * What a process needs `call` on to ask a model. The provider is named without what follows a dot in it, and signs that a
 * resource cannot have are written as percent codes.
 *
 * @example modelResource(openai('gpt-5')) === 'model:openai/gpt-5'
 */
export function modelResource({ provider, modelId }: Pick<AgentModel, 'provider' | 'modelId'>): string {
  const [family = ''] = provider.split('.');
  return `model:${[family, ...modelId.split('/')].map(segment).join('/')}`;
}

function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') return `%${text.replaceAll('.', '2E')}`;
  return text.toWellFormed().replaceAll(/[^A-Za-z0-9._:@+-]/gu, percentCode);
}

function percentCode(sign: string): string {
  return [...Buffer.from(sign)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/**
 * The authority was there when the turn began, which may be long ago: what has been taken away since is not used. A use that
 * is spent was spent on this turn.
 */
export async function stillAllowed(ctx: Syscalls, resource: string): Promise<void> {
  const { effect, code, reason } = await ctx.capabilities.check('call', resource);
  if (effect !== 'deny' || code === 'SPENT') return;
  throw new CapabilityError('CAPABILITY_DENIED', `Process ${ctx.pid} may not call ${resource} any more.`, {
    facts: { pid: ctx.pid, right: 'call', resource, code },
    hint: `${reason} Grant it anew, or lift the rule.`,
  });
}
