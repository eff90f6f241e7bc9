import { KernelError, StoreError } from '../../base/errors.js';
import type { ReadTx } from '../../base/store.js';
import { SqlEventRepository } from '../repository/sql-event-repository.js';
import { Connection } from '../sqlite/connection.js';
import { identify } from '../sqlite/identity.js';
import { assertNotNewer, migrate, schemaNumber } from '../sqlite/migrate.js';
import { assertNativeBinding } from '../sqlite/native-binding.js';
import { retryWhileBusy } from '../sqlite/retry-while-busy.js';
import { toKernelError } from '../sqlite/sqlite-errors.js';
import { WriteUnit } from '../units/write-unit.js';
import type { StoredValues } from '../working-set/row-codec.js';
import { pageBytesMax, pageRowsMax, sizeOfRow, type TransferSource } from './transfer-store.js';
import type { TransferTable } from './transfer-tables.js';

/** An SQLite file that is moved, within a transaction that holds its write lock and changes nothing. */
export class SqliteSource implements TransferSource {
  readonly tx: ReadTx;

  private constructor(
    private readonly connection: Connection,
    readonly writtenAt: number,
  ) {
    this.tx = new WriteUnit(connection, 'read');
  }

  /** Locks the file; one of an older release is brought up to date first. Throws STORE_*, SCHEMA_NEWER. */
  static async open(path: string): Promise<SqliteSource> {
    let connection: Connection | undefined;
    try {
      assertNativeBinding();
      const { isOurs, schema } = identify(path);
      if (!isOurs) throw noStore(path);
      assertNotNewer(schema, schemaNumber);
      const opened = await retryWhileBusy(() => new Connection(path, { readonly: false }));
      connection = opened;
      await retryWhileBusy(() => migrate(opened.raw));
      await retryWhileBusy(() => opened.raw.exec('BEGIN IMMEDIATE'));
      const writtenAt = await new SqlEventRepository().newestAt(new WriteUnit(opened, 'read'));
      return new SqliteSource(opened, writtenAt);
    } catch (error) {
      connection?.close();
      throw toKernelError(error);
    }
  }

  get now(): number {
    return Math.max(Date.now(), this.writtenAt);
  }

  async *pages({ name, columns }: TransferTable): AsyncIterable<readonly StoredValues[]> {
    const list = columns.map((column) => `"${column}"`).join(', ');
    const statement = this.connection.raw.prepare<[], StoredValues>(`SELECT ${list} FROM "${name}" ORDER BY rowid`);
    let page: StoredValues[] = [];
    let bytes = 0;
    for (const row of statement.raw().iterate()) {
      bytes += sizeOfRow(row);
      if (page.push(row) < pageRowsMax && bytes < pageBytesMax) continue;
      yield page;
      page = [];
      bytes = 0;
    }
    if (page.length > 0) yield page;
  }

  toKernelError(error: unknown): KernelError {
    return toKernelError(error);
  }

  async close(): Promise<void> {
    if (this.connection.raw.inTransaction) this.connection.raw.exec('ROLLBACK');
    this.connection.close();
  }
}

function noStore(path: string): StoreError {
  return new StoreError('STORE_IO', `There is no database at ${path}.`, {
    facts: { path },
    hint: 'Name the database that is to be moved.',
  });
}
