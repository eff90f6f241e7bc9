import type { Client } from 'pg';
import type { PostgresAddress } from '../../base/address/postgres-address.js';
import { packageVersion } from '../../base/package/package-version.js';
import { loadPgPackage } from './pg-package.js';

export type ConnectionRole = 'writer' | 'reader' | 'listener' | 'setup';

const connectMs = 5_000;

/** Opens a connection. Errors that end it later are given to `onEnd`. */
export async function connect(
  address: PostgresAddress,
  role: ConnectionRole,
  onEnd: (error: Error) => void,
  url = address.url,
): Promise<Client> {
  const { Client } = await loadPgPackage();
  const client = new Client({
    connectionString: url,
    application_name: `procura ${packageVersion} ${role}`,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
  });
  client.on('error', onEnd);
  client.on('end', () => onEnd(new Error('Connection terminated')));
  try {
    await client.connect();
  } catch (error) {
    void client.end().catch(() => undefined);
    throw error;
  }
  return client;
}
