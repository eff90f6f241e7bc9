import type { QuestionId } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { Outcome } from '../../kernel/process/process.js';

/** Tokens of a turn, or of all turns that a reply took. Whole numbers. */
export interface AgentUsage {
  /** What the model was given. */
  readonly inputTokens: number;
  /** The part of the input that the provider read from its cache. */
  readonly cachedInputTokens?: number;
  /** What it answered with. */
  readonly outputTokens: number;
  /** At least the sum of both. */
  readonly totalTokens: number;
}

/** The end of a conversation's turns: what it answers to the messages that came before. */
export interface Reply {
  readonly text: string;
  /** Where the agent answers with an object. */
  readonly object?: JsonValue;
  /** Of the turns that the answer took. */
  readonly usage: AgentUsage;
}

/**
 * A part of a turn, as the body of an agent tells it. `turn-start` comes first; when it comes again before `turn-end`, the turn
 * begins anew, and what was told of it is void.
 */
export type TurnPart =
  | { readonly type: 'turn-start' }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | {
      readonly type: 'tool-call';
      /** By which its result names it. */
      readonly id: string;
      readonly tool: string;
      /** All arguments; absent while they are still coming. */
      readonly args?: JsonValue;
      /** The next piece of the JSON text of the arguments; only while they are coming. */
      readonly delta?: string;
    }
  | {
      readonly type: 'tool-result';
      readonly id: string;
      readonly tool: string;
      readonly result: JsonValue;
      /** Present where the call was refused or failed, which the result tells. */
      readonly isError?: boolean;
    }
  | { readonly type: 'turn-end'; readonly usage: AgentUsage; readonly finishReason?: string };

/** A part of what an agent says and does, with the number of its turn, counted from 1. */
export type AgentPart =
  | (TurnPart & { readonly turn: number })
  | {
      /** A question of the process to a person. */
      readonly type: 'question';
      readonly turn: number;
      readonly id: QuestionId;
      readonly question: string;
      readonly choices?: readonly JsonValue[];
      readonly schema?: JsonObject;
    }
  | { readonly type: 'end'; readonly turn: number; readonly outcome: Outcome };
