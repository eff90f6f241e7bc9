import { isPostgres, PostgresRawConnection } from './postgres-raw-connection.js';
import { SqliteRawConnection } from './sqlite-raw-connection.js';

export type RawValue = string | number | null | Uint8Array;
export type RawRow = Record<string, string | number | null>;

/** A statement with `?` for each value, and the values. */
export type RawStatement = readonly [text: string, ...values: RawValue[]];

/** A connection to a store behind the kernel's back, as another program has it. */
export interface RawConnection {
  /** Runs statements in one transaction; answers with the rows of each. What they change is seen as another kernel's commit. */
  run(statements: readonly RawStatement[]): Promise<RawRow[][]>;
  /** The column by which rows are in the order in which they were made; undefined where they are without being asked. */
  orderOf(table: string): Promise<string | undefined>;
  /** Runs `read` on one committed state. */
  snapshot<T>(read: () => Promise<T>): Promise<T>;
  /** Holds the write lock of the store until disposed; what is changed meanwhile is seen from then on. */
  lock(): Promise<AsyncDisposable>;
  /** Makes every change of this kind fail, until disposed. */
  refuse(change: 'INSERT' | 'UPDATE', table: string): Promise<AsyncDisposable>;
  close(): Promise<void>;
}

/** Opens a connection to the store at an address of any kind. */
export function openRaw(store: string): Promise<RawConnection> {
  return isPostgres(store) ? PostgresRawConnection.open(store) : SqliteRawConnection.open(store);
}
