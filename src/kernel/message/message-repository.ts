import type { CapabilityId, ObjectId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** An object that stands in the body of a message, and by which capability the receiver was given the reading of it. */
export interface MessageHandle {
  readonly path: readonly (string | number)[];
  readonly object: ObjectId;
  readonly capability: CapabilityId;
}

/** What one process has sent to another, as it is stored. */
export interface StoredMessage {
  readonly id: string;
  readonly from: Pid;
  readonly at: number;
  /** `message`, or what the kernel tells of, such as `command.ended`. */
  readonly kind: string;
  /** With null where handles stand. */
  readonly body: JsonValue;
  readonly handles: readonly MessageHandle[] | null;
}

/** Messages that wait to be received. */
export interface MessageRepository {
  insert(tx: WriteTx, to: Pid, message: StoredMessage): Promise<void>;
  count(tx: ReadTx, to: Pid): Promise<number>;
  /** Whether there is one to take, of `from` if that is given. */
  has(tx: ReadTx, to: Pid, from?: Pid): Promise<boolean>;
  /** Takes the oldest one out, of `from` if that is given. */
  take(tx: WriteTx, to: Pid, from?: Pid): Promise<StoredMessage | undefined>;
  clear(tx: WriteTx, to: Pid): Promise<void>;
}
export const MessageRepository: Token<MessageRepository> = token('MessageRepository');
