import type { Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** The report of a signal that was sent with an id. */
export interface SignalReceipt {
  /** Of target, signal and options: the same id with another hash is a conflict. */
  readonly hash: string;
  readonly report: JsonObject;
}

/** A user signal that a wait receives. */
export interface TakenSignal {
  readonly ordinal: number;
  readonly payload: JsonValue;
  /** The id of the audit record by which it was sent; null for one that an earlier release stored. */
  readonly record: string | null;
}

/** A user signal as it is sent. */
export interface NewSignal {
  readonly name: string;
  readonly at: number;
  readonly payload: JsonValue;
  readonly record: string;
}

/** User signals, and the reports of signals that were sent with an id. */
export interface SignalRepository {
  /** Stores the next signal of that name and answers with its ordinal, counted from 1. */
  push(tx: WriteTx, pid: Pid, signal: NewSignal): Promise<number>;
  /** Whether there is a signal of that name that no wait has received. */
  has(tx: ReadTx, pid: Pid, name: string): Promise<boolean>;
  /** The oldest one of that name that no wait has received. */
  peek(tx: ReadTx, pid: Pid, name: string): Promise<TakenSignal | undefined>;
  /** Marks the oldest one of that name as received; the row stays, because ordinals count it. */
  take(tx: WriteTx, pid: Pid, name: string): Promise<TakenSignal | undefined>;
  findReceipt(tx: ReadTx, id: string): Promise<SignalReceipt | undefined>;
  insertReceipt(tx: WriteTx, id: string, receipt: SignalReceipt): Promise<void>;
}
export const SignalRepository: Token<SignalRepository> = token('SignalRepository');
