import type { AgentModel } from './agent-model.js';

/** A part of an answer, or of a stream of one. Its members depend on its type. */
export type ModelPart = { readonly type: string } & Readonly<Record<string, unknown>>;

/** A message of a prompt. */
export interface PromptMessage {
  readonly role: string;
  readonly content: string | readonly ModelPart[];
}

/** The options that the SDK calls a model with, as far as they are read here; all others are passed on. */
export interface ModelCall {
  readonly prompt: readonly PromptMessage[];
  readonly tools?: readonly object[];
  readonly maxOutputTokens?: number | undefined;
  readonly responseFormat?: object;
  readonly abortSignal?: AbortSignal | undefined;
}

/** An answer of a model. Of its usage nothing is known: providers report anything. */
export interface ModelAnswer {
  readonly content: readonly ModelPart[];
  /** A text in version 2 of the specification, an object in later ones. */
  readonly finishReason: unknown;
  readonly usage: unknown;
  readonly providerMetadata?: unknown;
  readonly warnings?: unknown;
  readonly response?: unknown;
}

/** A model of any version of the specification. */
export interface SourceModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: unknown;
  doGenerate(call: ModelCall): PromiseLike<ModelAnswer>;
  doStream?(call: ModelCall): PromiseLike<{ readonly stream: ReadableStream<ModelPart> }>;
}

/** The versions of the specification differ in types that are only passed on. */
export function toSource(model: AgentModel): SourceModel {
  return model as object as SourceModel;
}
