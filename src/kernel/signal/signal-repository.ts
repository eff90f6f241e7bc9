import type { Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

export interface SignalReceipt {
  /** Over what was sent, so that the same id with other content is seen. */
  readonly hash: string;
  readonly report: JsonObject;
}

/** A user signal that one wait has got. */
export interface TakenSignal {
  readonly ordinal: number;
  readonly payload: JsonValue;
}

/** User signals that were sent, and the answers to signals that carried an id. */
export interface SignalRepository {
  /** Stores the next signal of that name and answers with its ordinal, counted from 1. */
  push(tx: WriteTx, pid: Pid, name: string, at: number, payload: JsonValue): Promise<number>;
  /** Whether there is one of that name to take. */
  has(tx: ReadTx, pid: Pid, name: string): Promise<boolean>;
  /** Takes the oldest one of that name; the row stays, for the count. */
  take(tx: WriteTx, pid: Pid, name: string): Promise<TakenSignal | undefined>;
  findReceipt(tx: ReadTx, id: string): Promise<SignalReceipt | undefined>;
  insertReceipt(tx: WriteTx, id: string, receipt: SignalReceipt): Promise<void>;
}
export const SignalRepository: Token<SignalRepository> = token('SignalRepository');
