/* DBOS on PostgreSQL. */
import { DBOS } from '@dbos-inc/dbos-sdk';
import pg from 'pg';
import { runCount, serve } from '../sides/serve.mjs';
import { serverCpuUs } from '../sides/server-cpu.mjs';
import { perOperation, StatementCount } from '../sides/statement-count.mjs';

const countedLives = 100;

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

await serve(async ({ database }) => {
  // A connection for each caller, more than its default of 10.
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: database.url, systemDatabasePoolSize: 32, logLevel: 'error' });
  await DBOS.launch();
  return {
    workloads,
    facts: { counts: await countStatements() },
    serverCpuUs: () => serverCpuUs(database),
    close: () => DBOS.shutdown(),
  };
});

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
