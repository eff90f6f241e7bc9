import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** A message to a conversation, which waits for its reply or has it. */
export interface AgentMessageRow {
  /** The row number of the process. */
  readonly process: number;
  /** As the sender gave it, or the id of the message. */
  readonly id: string;
  /** The id of the message in the mailbox. */
  readonly message: string;
  readonly textHash: string;
  readonly at: number;
  readonly reply: JsonValue;
  /** Null while there is no reply. */
  readonly answeredAt: number | null;
}

/** Rows of messages to conversations. Every method works inside the caller's unit. */
export interface AgentMessageRepository {
  find(tx: ReadTx, process: number, id: string): Promise<AgentMessageRow | undefined>;
  /** Those without a reply. */
  open(tx: ReadTx, process: number): Promise<AgentMessageRow[]>;
  insert(tx: WriteTx, row: AgentMessageRow): Promise<void>;
  answer(tx: WriteTx, row: Pick<AgentMessageRow, 'process' | 'id' | 'reply' | 'answeredAt'>): Promise<void>;
}
export const AgentMessageRepository: Token<AgentMessageRepository> = token('AgentMessageRepository');
