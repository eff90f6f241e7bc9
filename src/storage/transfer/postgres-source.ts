import { randomUUID } from 'node:crypto';
import type { PostgresAddress } from '../../base/address/postgres-address.js';
import type { KernelError } from '../../base/errors.js';
import type { ReadTx } from '../../base/store.js';
import { connect } from '../postgres/connect.js';
import { migrateExisting } from '../postgres/migrate.js';
import { PostgresConnection } from '../postgres/postgres-connection.js';
import { toStoreError } from '../postgres/postgres-errors.js';
import { type Head, PostgresTransactions } from '../postgres/postgres-transaction.js';
import { transferSettings } from '../postgres/transaction-settings.js';
import { WriteUnit } from '../units/write-unit.js';
import type { StoredValues } from '../working-set/row-codec.js';
import { answerMsMax, pageBytesMax, pageRowsMax, sizeOfRow, type TransferSource } from './transfer-store.js';
import type { TransferTable } from './transfer-tables.js';

const rowsAtFirst = 16;

/** A schema that is moved, within a transaction that holds the lock of its writers and changes nothing. */
export class PostgresSource implements TransferSource {
  readonly tx: ReadTx;

  private constructor(
    private readonly address: PostgresAddress,
    private readonly connection: PostgresConnection,
    private readonly head: Head,
  ) {
    this.tx = new WriteUnit(connection, 'read');
  }

  /** Locks the schema; one of an older release is brought up to date first. Throws STORE_*, SCHEMA_NEWER, MISSING_PACKAGE. */
  static async open(address: PostgresAddress): Promise<PostgresSource> {
    try {
      const client = await connect(address, 'setup', () => undefined);
      try {
        await migrateExisting(client, address);
        const connection = new PostgresConnection(client, address.prepare, answerMsMax);
        const head = await new PostgresTransactions(randomUUID(), address.schema, 'full').begin(connection);
        await connection.query({ text: transferSettings });
        connection.workingSet.importFacts(head.facts);
        return new PostgresSource(address, connection, head);
      } catch (error) {
        await client.end().catch(() => undefined);
        throw error;
      }
    } catch (error) {
      throw toStoreError(error, address);
    }
  }

  get now(): number {
    return Math.max(this.head.now, this.head.at);
  }

  get writtenAt(): number {
    return this.head.at;
  }

  async *pages({ name, columns, order }: TransferTable): AsyncIterable<readonly StoredValues[]> {
    const cursor = `"rows of ${name}"`;
    const [list, by] = [columns, order].map((names) => names.map((column) => `"${column}"`).join(', '));
    await this.connection.query({
      text: `DECLARE ${cursor} NO SCROLL CURSOR FOR SELECT ${list} FROM "${name}" ORDER BY ${by}`,
    });
    for (let count = rowsAtFirst; ; ) {
      const { rows } = await this.connection.query({ text: `FETCH ${count} FROM ${cursor}` });
      if (rows.length > 0) yield rows;
      if (rows.length < count) break;
      const bytes = rows.reduce((sum, row) => sum + sizeOfRow(row), 0);
      count = bytes > pageBytesMax ? Math.ceil(count / 2) : Math.min(count * 2, pageRowsMax);
    }
    await this.connection.query({ text: `CLOSE ${cursor}` });
  }

  toKernelError(error: unknown): KernelError {
    return toStoreError(error, this.address);
  }

  async close(): Promise<void> {
    // The server ends the transaction with the connection.
    await this.connection.client.end().catch(() => undefined);
  }
}
