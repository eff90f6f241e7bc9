/**
 * The part of the AI SDK's specification of language models that scripted models use. `v3` and `v4` do not differ in it. It is
 * written out here so that the helpers for tests can be used without the package `ai`.
 */
export type SpecificationVersion = 'v3' | 'v4';

/** A message of a prompt, as the AI SDK gives it to models. */
export interface PromptMessage {
  /** Who the message is from. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  /** A text for `system`, parts for the others. */
  readonly content: string | readonly PromptPart[];
}

/** A part of a message. Which members it has depends on its type. */
export interface PromptPart {
  /** `text`, `tool-call`, `tool-result` and so on. */
  readonly type: string;
  readonly text?: string;
  /** Of a tool call or its result. */
  readonly toolName?: string;
  /** The arguments of a tool call. */
  readonly input?: unknown;
  /** The result of a tool call. */
  readonly output?: unknown;
}

/** The options that the AI SDK calls a model with. */
export interface ModelCall {
  /** The messages. */
  readonly prompt: readonly PromptMessage[];
  /** The tools that the model is offered. */
  readonly tools?: readonly { readonly name: string }[];
  /** The limit that the call sets. */
  readonly maxOutputTokens?: number;
}

/** The tokens of one call. */
export interface ModelUsageReport {
  /** The tokens of the prompt. */
  inputTokens: { total: number; noCache: number; cacheRead: number; cacheWrite: number };
  /** The tokens of the answer. */
  outputTokens: { total: number; text: number; reasoning: number };
}

/** A part of an answer: a text or a tool call. */
export type ModelContent =
  | { type: 'text'; text: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: string };

/** The answer of a model to `doGenerate`. */
export interface ModelAnswer {
  /** Texts and tool calls. */
  content: ModelContent[];
  /** Why the answer ends. */
  finishReason: {
    unified: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';
    raw: undefined;
  };
  /** The tokens that it took. */
  usage: ModelUsageReport;
  /** Always empty. */
  warnings: never[];
}

/** A part of the answer of a model to `doStream`. */
export type ModelStreamPart =
  | { type: 'stream-start'; warnings: never[] }
  | { type: 'text-start' | 'text-end' | 'tool-input-end'; id: string }
  | { type: 'text-delta' | 'tool-input-delta'; id: string; delta: string }
  | { type: 'tool-input-start'; id: string; toolName: string }
  | Extract<ModelContent, { type: 'tool-call' }>
  | { type: 'finish'; finishReason: ModelAnswer['finishReason']; usage: ModelUsageReport };
