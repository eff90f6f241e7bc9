import type { ApprovalId, CapabilityId, NodeId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { HostIdentity } from '../node/node-repository.js';

/** The part of an OS command that is not in the process table. */
export interface CommandRow {
  /** The number of the process. */
  readonly process: number;
  /** In the environment of everything that the command starts, and nowhere else: identifies its OS processes. */
  readonly token: string;
  /** The command line for people: redacted and bounded. */
  readonly line: string;
  readonly resource: string;
  readonly capability: CapabilityId | 'kin' | 'host';
  readonly approval: ApprovalId | null;
  /** The hash of the arguments that were decided on: only these are run. Null in rows of earlier releases. */
  readonly argsHash: string | null;
  /** Its end is sent to the mailbox of its parent. */
  readonly background: boolean;
  /** It keeps running when its kernel ends. */
  readonly survive: boolean;
  /** The OS process that leads its group; null until it has started. */
  readonly leader: HostIdentity | null;
  readonly adopted: Adopted | null;
  /** The bytes of its output that have been charged. */
  readonly outputBytes: number;
  /** The id of the audit record of the intent; null until a node has taken it, and in rows of earlier releases. */
  readonly intent: string | null;
}

/** An OS process that somebody else started and that the kernel watches and stops. */
export interface Adopted {
  /** The process group that signals go to; null: to the process alone. */
  readonly group: number | null;
}

/** A command that a node holds. */
export interface HeldCommand {
  readonly pid: Pid;
  readonly node: NodeId;
  readonly command: CommandRow;
}

/** Rows of OS commands, beside their rows in the process table. */
export interface CommandRepository {
  /** Replaces the command that the process had before. */
  put(tx: WriteTx, command: CommandRow): Promise<void>;
  find(tx: ReadTx, process: number): Promise<CommandRow | undefined>;
  findAll(tx: ReadTx, processes: readonly number[]): Promise<CommandRow[]>;
  /** All commands that nodes hold, in the order of creation. */
  findHeld(tx: ReadTx): Promise<HeldCommand[]>;
  update(tx: WriteTx, command: CommandRow): Promise<void>;
  /** Stores the id of the audit record of the intent. */
  setIntent(tx: WriteTx, process: number, intent: string): Promise<void>;
  remove(tx: WriteTx, process: number): Promise<void>;
}
export const CommandRepository: Token<CommandRepository> = token('CommandRepository');
