import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** `started` and `backoff` have no answer yet; a started call may or may not have happened. */
export type EntryStatus = 'started' | 'backoff' | 'done' | 'failed';

/** One call of a run in its journal. */
export interface RunEntry {
  /** The number of the process. */
  readonly process: number;
  /** Enclosing steps, kind, name, and the ordinal among calls of that kind and name. */
  readonly key: string;
  /** Counts the answers in the order of their commits; 0 while there is none. */
  readonly seq: number;
  readonly status: EntryStatus;
  /** The answer, or the error; null where there is none. */
  readonly value: JsonValue;
  readonly attempt: number;
  /** When the call continues or times out, where that was fixed when it was made. */
  readonly dueAt: number | null;
  /** The fence of the run that wrote it. */
  readonly fence: number;
  readonly at: number;
}

/** The journals of runs. */
export interface RunEntryRepository {
  /** The entries of one process, in the order of the answers. */
  findAll(tx: ReadTx, process: number): Promise<RunEntry[]>;
  /** Reads the journals of these processes together, for a unit that will ask for one after another. */
  load(tx: WriteTx, processes: readonly number[]): Promise<void>;
  put(tx: WriteTx, entry: RunEntry): Promise<void>;
  remove(tx: WriteTx, process: number, key: string): Promise<void>;
  clear(tx: WriteTx, process: number): Promise<void>;
}
export const RunEntryRepository: Token<RunEntryRepository> = token('RunEntryRepository');
