import type { KernelError } from '../../base/errors.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { StoredValues } from '../working-set/row-codec.js';
import type { TransferTable } from './transfer-tables.js';

/** A store that is moved, locked: until it is closed nobody can write to it. */
export interface TransferSource {
  /** For reading what is in it. */
  readonly tx: ReadTx;
  /** The present time, by which leases are judged; never before anything that was written. */
  readonly now: number;
  /** The newest time that anything was written at. */
  readonly writtenAt: number;
  /** All rows of a table in its order, in parts of bounded size. */
  pages(table: TransferTable): AsyncIterable<readonly StoredValues[]>;
  /** Converts what `tx` or `pages` has thrown. */
  toKernelError(error: unknown): KernelError;
  /** Releases the lock. Nothing was changed. */
  close(): Promise<void>;
}

/** A store that is made in one transaction: nobody sees any of it before `commit`. */
export interface TransferTarget {
  /** For reading what was inserted, and for writing numbers. */
  readonly tx: WriteTx;
  insert(table: TransferTable, rows: readonly StoredValues[]): Promise<void>;
  /** Makes the store visible, or throws and leaves nothing. `writtenAt`: the newest time that anything of it was written at. */
  commit(writtenAt: number): Promise<void>;
  /** Converts what `tx`, `insert` or `commit` has thrown. */
  toKernelError(error: unknown): KernelError;
  /** Ends the transaction, and leaves nothing of it, unless it was committed. */
  close(): Promise<void>;
}

/** The rows and the bytes, about, that are in memory at a time. */
export const pageRowsMax = 1_000;
/** How long a server may take for an answer: pages of large rows and ANALYZE are waited for. */
export const answerMsMax = 2 ** 31 - 1;
export const pageBytesMax = 4 * 1024 * 1024;

/** The bytes of a row, about. */
export function sizeOfRow(row: StoredValues): number {
  let size = 0;
  for (const value of row) size += typeof value === 'string' || Buffer.isBuffer(value) ? value.length : 8;
  return size;
}
