import type { CapabilityId, ObjectId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** An object in the body of a message, and the capability by which the receiver reads it. */
export interface MessageHandle {
  readonly path: readonly (string | number)[];
  readonly object: ObjectId;
  readonly capability: CapabilityId;
}

/** A message as it is stored. */
export interface StoredMessage {
  readonly id: string;
  readonly from: Pid | 'host';
  readonly at: number;
  /** `message`, or the kind of a message of the kernel, such as `command.ended`. */
  readonly kind: string;
  /** With null in the place of handles. */
  readonly body: JsonValue;
  readonly handles: readonly MessageHandle[] | null;
}

/** Messages that wait to be received. */
export interface MessageRepository {
  insert(tx: WriteTx, to: Pid, message: StoredMessage): Promise<void>;
  /** The messages that processes have sent, without those of the host and those of the kernel. */
  countOfProcesses(tx: ReadTx, to: Pid): Promise<number>;
  /** The messages that `from` itself has sent, without those of the kernel about it. */
  countFrom(tx: ReadTx, to: Pid, from: Pid | 'host'): Promise<number>;
  /** The ids of all of them. */
  waitingIds(tx: ReadTx, to: Pid): Promise<string[]>;
  /** Whether there is a message, from `from` if that is given. */
  has(tx: ReadTx, to: Pid, from?: Pid): Promise<boolean>;
  /** The oldest message, from `from` if that is given. */
  peek(tx: ReadTx, to: Pid, from?: Pid): Promise<StoredMessage | undefined>;
  /** Removes the oldest message, from `from` if that is given, and answers with it. */
  take(tx: WriteTx, to: Pid, from?: Pid): Promise<StoredMessage | undefined>;
  clear(tx: WriteTx, to: Pid): Promise<void>;
  /** Reads what waits for all of these together, for a unit that will ask for one after another. */
  loadInboxes(tx: WriteTx, receivers: readonly Pid[]): Promise<void>;
}
export const MessageRepository: Token<MessageRepository> = token('MessageRepository');
