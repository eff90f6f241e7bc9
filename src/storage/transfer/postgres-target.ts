import { factsOf, type PostgresAddress } from '../../base/address/postgres-address.js';
import { InputError, type KernelError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import { connect } from '../postgres/connect.js';
import { createTables } from '../postgres/migrate.js';
import { PostgresConnection } from '../postgres/postgres-connection.js';
import { toStoreError } from '../postgres/postgres-errors.js';
import { transferSettings } from '../postgres/transaction-settings.js';
import { WriteUnit } from '../units/write-unit.js';
import type { StoredValues } from '../working-set/row-codec.js';
import { answerMsMax, type TransferTarget } from './transfer-store.js';
import { type TransferTable, transferTables } from './transfer-tables.js';

/** A schema that is made, with its tables and rows, in one transaction. */
export class PostgresTarget implements TransferTarget {
  readonly tx: WriteTx;

  private constructor(
    private readonly address: PostgresAddress,
    private readonly connection: PostgresConnection,
  ) {
    this.tx = new WriteUnit(connection, 'seal');
  }

  /** Throws STORE_*, among them STORE_NOT_VACANT and STORE_FOREIGN, and MISSING_PACKAGE. */
  static async open(address: PostgresAddress): Promise<PostgresTarget> {
    try {
      const client = await connect(address, 'setup', () => undefined);
      try {
        await client.query('BEGIN');
        await client.query(transferSettings);
        await createTables(client, address);
        return new PostgresTarget(address, new PostgresConnection(client, address.prepare, answerMsMax));
      } catch (error) {
        await client.end().catch(() => undefined);
        throw error;
      }
    } catch (error) {
      throw toStoreError(error, address);
    }
  }

  async insert(table: TransferTable, rows: readonly StoredValues[]): Promise<void> {
    const { name, columns } = table;
    const list = columns.map((column) => `"${column}"`).join(', ');
    const objects = rows.map((row) =>
      Object.fromEntries(columns.map((column, at) => [column, this.encode(table, row, at)])),
    );
    await this.connection.query(
      {
        text: `INSERT INTO "${name}" (${list}) SELECT ${list} FROM json_populate_recordset(NULL::"${name}", $1::json)`,
      },
      [JSON.stringify(objects)],
    );
  }

  async commit(writtenAt: number): Promise<void> {
    const { connection } = this;
    for (const { name, hasRowNumber } of transferTables) {
      if (!hasRowNumber) continue;
      connection.push({
        text: `SELECT setval(pg_get_serial_sequence('"${name}"', 'rowid'), max("rowid")) FROM "${name}" HAVING max("rowid") > 0`,
      });
    }
    // Until the server has looked at the tables by itself, which takes it a minute, it knows nothing of how full they are.
    connection.push({ text: `ANALYZE ${transferTables.map(({ name }) => `"${name}"`).join(', ')}` });
    connection.push(updateHead, [writtenAt, connection.workingSet.exportFacts()]);
    const { tag } = await connection.query({ text: 'COMMIT' });
    if (tag !== 'COMMIT') throw connection.error ?? new Error(`COMMIT was answered with ${tag}`);
  }

  toKernelError(error: unknown): KernelError {
    return toStoreError(error, this.address);
  }

  async close(): Promise<void> {
    // The server ends the transaction with the connection.
    await this.connection.client.end().catch(() => undefined);
  }

  /** A value in JSON. Throws INVALID_INPUT for a character that PostgreSQL does not store. */
  private encode(table: TransferTable, row: StoredValues, position: number): JsonValue {
    const value = row[position];
    if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`;
    if (typeof value === 'string' && value.includes('\0')) throw withNul(this.address, table, row, position);
    return value as JsonValue;
  }
}

const updateHead = { text: 'UPDATE "head" SET "no" = 1, "writer" = \'\', "at" = $1, "facts" = $2 WHERE "only" = 1' };

function withNul(
  address: PostgresAddress,
  { name, columns, order }: TransferTable,
  row: StoredValues,
  position: number,
): InputError {
  const key = order.map((column) => String(row[columns.indexOf(column)])).join(', ');
  const column = columns[position] ?? '';
  return new InputError('INVALID_INPUT', `${column} of ${name} ${key} holds a character with the code 0.`, {
    facts: { ...factsOf(address), table: name, column, key },
    hint: 'PostgreSQL stores none. Prune the process that it belongs to, or move the store to an SQLite file.',
  });
}
