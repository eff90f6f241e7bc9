/* Procura, as the package that `npm run build` makes: on a SQLite file, or in a schema of the database that it is given. */
import { join } from 'node:path';
import { openLives } from './lives.mjs';
import { serve } from './serve.mjs';
import { serverCpuUs } from './server-cpu.mjs';

await serve(async ({ folder, durability, database, schema }) => {
  const store = database === undefined ? join(folder, 'procura.db') : `${database.url}?schema=${schema}`;
  const { kernel, workloads } = await openLives(store, { durability, state: join(folder, 'state') });
  return {
    workloads,
    facts: {},
    serverCpuUs: () => (database === undefined ? 0 : serverCpuUs(database)),
    close: () => kernel.shutdown(),
  };
});
