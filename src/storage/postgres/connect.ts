import type { Client } from 'pg';
import type { PostgresAddress } from '../../base/address/postgres-address.js';
import { packageVersion } from '../../base/package/package-version.js';
import { loadPgPackage } from './pg-package.js';
import { toConnectError } from './postgres-errors.js';

/** The beginning of `application_name` of all connections. */
export const applicationName = 'procura';

export type ConnectionRole = 'writer' | 'reader' | 'listener' | 'setup';

const connectMs = 5_000;

/** Opens a connection. Errors that end it later are given to `onEnd`. Throws STORE_IO for an address that the driver refuses. */
export async function connect(
  address: PostgresAddress,
  role: ConnectionRole,
  onEnd: (error: Error) => void,
  url = address.url,
): Promise<Client> {
  const { Client } = await loadPgPackage();
  let client: Client | undefined;
  try {
    client = new Client({
      connectionString: url,
      application_name: `${applicationName} ${packageVersion} ${role}`,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
    });
    client.on('error', onEnd);
    client.on('end', () => onEnd(new Error('Connection terminated')));
    await client.connect();
    return client;
  } catch (error) {
    void client?.end().catch(() => undefined);
    throw toConnectError(error, address);
  }
}
