import type { ModelMessage } from 'ai';
import type { JsonValue } from '../../../index.js';
import type { ModelUsage } from '../../shared/model-usage.js';

/** What a conversation goes on with when its body begins anew. */
export type ConversationState = {
  readonly messages: readonly ModelMessage[];
  /** Turns so far. */
  readonly turn: number;
  /** Children that it has started, and whose ends the model does not know. */
  readonly children: readonly string[];
  readonly usage: ModelUsage;
  /** The last answer; absent before the first one. */
  readonly last?: JsonValue;
};

export function toState(state: ConversationState): JsonValue {
  return JSON.parse(JSON.stringify(state)) as JsonValue;
}

export function fromState(state: JsonValue): ConversationState {
  return state as object as ConversationState;
}

/** After so many turns, or so much in the journal, a conversation begins anew between two messages. */
const turnsMax = 200;
const journalBytesMax = 4_194_304;

/** Counts what the journal of a run has got, by the texts that are in it. */
export class JournalSize {
  private turns = 0;
  private bytes = 0;

  add(messages: readonly ModelMessage[]): void {
    this.turns += messages.some(({ role }) => role === 'assistant') ? 1 : 0;
    // Each text is in the journal twice: as an answer, and as a part of a turn or of a result.
    this.bytes += 2 * Buffer.byteLength(JSON.stringify(messages));
  }

  get isFull(): boolean {
    return this.turns >= turnsMax || this.bytes >= journalBytesMax;
  }
}
