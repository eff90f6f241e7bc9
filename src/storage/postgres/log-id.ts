import type { PostgresAddress } from '../../base/address/postgres-address.js';
import { connect } from './connect.js';
import { assertReadable, migrate } from './migrate.js';
import { toStoreError } from './postgres-errors.js';

/**
 * The id of the audit log in a database, by which the state folder is named. A log without one gets `create()`; without `create`
 * the database is only read, and undefined stands for a log that has none yet. Throws STORE_*, SCHEMA_NEWER, MISSING_PACKAGE.
 */
export async function findLogId(address: PostgresAddress, create?: () => string): Promise<string | undefined> {
  try {
    const client = await connect(address, 'setup', () => undefined);
    try {
      await (create === undefined ? assertReadable(client, address) : migrate(client, address));
      const log = `"${address.schema}"."audit_log"`;
      const find = async () => (await client.query<{ id: string }>(`SELECT "id" FROM ${log}`)).rows[0]?.id;
      const known = await find();
      if (known !== undefined || create === undefined) return known;
      await client.query('BEGIN');
      await client.query(`SELECT 1 FROM "${address.schema}"."head" WHERE "only" = 1 FOR UPDATE`);
      await client.query(`INSERT INTO ${log} ("id") SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM ${log})`, [create()]);
      await client.query('COMMIT');
      return await find();
    } finally {
      await client.end();
    }
  } catch (error) {
    throw toStoreError(error, address);
  }
}
