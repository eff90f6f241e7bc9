import type { ModelAnswer, ModelCall, PromptMessage } from './model-specification.js';

/** A tool call in a turn of a scripted model. */
export interface ScriptedToolCall {
  /** The name of the tool in the kernel, such as `fs.read`, or the name that the model is offered for it. */
  readonly name: string;
  /** Default `{}`. */
  readonly args?: unknown;
}

/** The tokens that a turn reports. */
export interface ScriptedUsage {
  /** Default 10. */
  readonly inputTokens?: number;
  /** Default 5. */
  readonly outputTokens?: number;
}

/** What the model answers in one turn: a text, tool calls, both, or an error that it throws. */
export type ScriptedTurn =
  | string
  | {
      readonly text?: string;
      readonly toolCalls?: readonly ScriptedToolCall[];
      readonly usage?: ScriptedUsage;
      /** Default: `tool-calls` with tool calls, `stop` without. */
      readonly finishReason?: ModelAnswer['finishReason']['unified'];
    }
  | { readonly error: unknown };

/** A turn, or a function that gives the turn for the conversation so far. */
export type TurnSource =
  | ScriptedTurn
  | ((prompt: readonly PromptMessage[], call: ModelCall) => ScriptedTurn | Promise<ScriptedTurn>);
