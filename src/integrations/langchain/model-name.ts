import { InputError } from '../../index.js';
import { toModelResource } from '../shared/model-resource.js';

/** A chat model of LangChain, or one with tools or settings bound to it. */
export interface LangChainModel {
  /** Asks the model, as LangChain defines it. */
  invoke(input: never, config?: never): Promise<unknown>;
}

/** Members by which models say what they are. */
interface ModelParts {
  readonly model?: unknown;
  readonly modelName?: unknown;
  readonly _llmType?: unknown;
  /** The model of a binding. */
  readonly bound?: unknown;
  /** The parts of a sequence, one of which is a model. */
  readonly steps?: unknown;
  /** The settings of a model that is chosen when it is asked. */
  readonly _defaultConfig?: { readonly model?: unknown };
}

/**
 * The resource that a process needs `call` on to ask a model of LangChain: `model:langchain/NAME`, where NAME is the `model` of
 * the object, or its kind where it has none. Throws INVALID_INPUT for what is no model.
 *
 * @example modelResource(new ChatOpenAI({ model: 'gpt-5' })) === 'model:langchain/gpt-5'
 */
export function modelResource(model: LangChainModel): string {
  const name = modelNameOf(model);
  if (name !== undefined) return toModelResource('langchain', name);
  throw new InputError('INVALID_INPUT', 'model: is not a chat model of LangChain.', {
    facts: { path: 'model', problem: 'is not a chat model of LangChain' },
    hint: 'Give a chat model, such as new ChatOpenAI({ model: "gpt-5" }).',
  });
}

function modelNameOf(model: unknown): string | undefined {
  if (typeof model !== 'object' || model === null) return undefined;
  const parts = model as ModelParts;
  const named = [parts.model, parts.modelName, parts._defaultConfig?.model].find(isName);
  if (named !== undefined) return named;
  if (parts.bound !== undefined) return modelNameOf(parts.bound);
  if (Array.isArray(parts.steps)) return parts.steps.map(modelNameOf).find(isName);
  const kind: unknown = typeof parts._llmType === 'function' ? parts._llmType() : undefined;
  return isName(kind) ? kind : undefined;
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && name !== '';
}
