import type { ApprovalId, CapabilityId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { HostIdentity } from '../node/node-repository.js';

/** What the process table does not say of an OS subprocess. */
export interface CommandRow {
  /** The number of the process. */
  readonly process: number;
  /** In the environment of everything that it starts, and nowhere else: tells its processes from all others. */
  readonly token: string;
  /** The command line for people: redacted and bounded. */
  readonly line: string;
  readonly resource: string;
  readonly capability: CapabilityId | 'kin' | 'host';
  readonly approval: ApprovalId | null;
  /** Its end is told to the mailbox of its parent. */
  readonly background: boolean;
  /** It lives on without its kernel. */
  readonly survive: boolean;
  /** The OS process that leads its group; null until it has started. */
  readonly leader: HostIdentity | null;
  /** How much of its output has been charged. */
  readonly outputBytes: number;
}

/** OS subprocesses, beside their rows in the process table. */
export interface CommandRepository {
  /** In the place of what the process was to run before. */
  put(tx: WriteTx, command: CommandRow): Promise<void>;
  find(tx: ReadTx, process: number): Promise<CommandRow | undefined>;
  update(tx: WriteTx, command: CommandRow): Promise<void>;
  remove(tx: WriteTx, process: number): Promise<void>;
}
export const CommandRepository: Token<CommandRepository> = token('CommandRepository');
