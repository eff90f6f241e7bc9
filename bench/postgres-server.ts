import { existsSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { startPostgres } from '../test/support/postgres-server.js';
import { addressOf } from '../test/support/postgres-template.js';

/** A database of the server, as the sides of a comparison get it. */
export interface BenchDatabase {
  readonly url: string;
  /** The process whose children serve connections; absent where there is no /proc. */
  readonly postmaster?: number;
}

export interface BenchServer {
  readonly version: string;
  createDatabase(name: string): Promise<BenchDatabase>;
  stop(): Promise<void>;
}

/** Starts a PostgreSQL server on the loopback interface that flushes every commit to the disk before it is acknowledged. */
export async function startBenchServer(): Promise<BenchServer> {
  const { url, stop } = await startPostgres({
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    shared_buffers: '128MB',
    autovacuum_naptime: '1min',
  });
  const client = new pg.Client({ connectionString: url });
  const stopServer = async () => {
    await client.end();
    await stop();
  };
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string; backend: number }>(
      "SELECT current_setting('server_version') AS version, pg_backend_pid() AS backend",
    );
    const [{ version, backend } = { version: '', backend: 0 }] = rows;
    const postmaster = parentOf(backend);
    return {
      version,
      createDatabase: async (name) => {
        await client.query(`CREATE DATABASE "${name}"`);
        return { url: addressOf(url, name), ...(postmaster === undefined ? {} : { postmaster }) };
      },
      stop: stopServer,
    };
  } catch (error) {
    await stopServer();
    throw error;
  }
}

function parentOf(pid: number): number | undefined {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) ? Number(readFileSync(stat, 'utf8').split(') ')[1]?.split(' ')[1]) : undefined;
}
