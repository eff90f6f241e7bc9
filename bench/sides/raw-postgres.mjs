/*
 * Raw pg, writing the rows that spawnChild has written in another schema of the same database: one statement for as many spawns as
 * there are callers, in a transaction of its own. No ids, no hashes, no checks, no reads, no lock.
 */
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { createKernel } from '../../dist/index.js';
import { serve } from './serve.mjs';
import { serverCpuUs } from './server-cpu.mjs';

/** The tables that a spawnChild writes, with the column that orders their rows and the rows that it writes to each. */
const tables = [
  { table: 'objects', key: 'id', each: 1 },
  { table: 'views', key: 'n', each: 1 },
  { table: 'processes', key: 'n', each: 1 },
  { table: 'accounts', key: 'n', each: 1 },
  { table: 'capabilities', key: 'rowid', each: 2 },
  { table: 'events', key: 'seq', each: 1 },
  { table: 'audit_records', key: 'seq', each: 1 },
  { table: 'audit_payloads', key: 'seq', each: 1 },
];

/** Values are read as the server spells them, and sent back in the same way. */
const asText = { getTypeParser: () => (text) => text };

await serve(async ({ folder, database, schema, source }) => {
  // Makes the tables, and the account whose children are counted.
  const kernel = await createKernel({
    store: `${database.url}?schema=${schema}`,
    state: join(folder, 'state'),
    node: { executor: false },
    logger: 'silent',
  });
  await kernel.processes.spawn({});
  await kernel.shutdown();
  const client = new pg.Client({ connectionString: database.url, types: asText });
  await client.connect();
  for (const { table } of tables) {
    if (table !== 'accounts') await client.query(`DELETE FROM "${schema}"."${table}"`);
  }
  const columns = await columnsOf(client, schema);
  return {
    replay: ({ callers, operations }) => replay({ client, database, columns, schema, source }, callers, operations),
    facts: {},
    close: () => client.end(),
  };
});

async function replay({ client, database, columns, schema, source }, callers, operations) {
  const rows = await readNewest(client, columns, source, operations);
  const before = await countRows(client, schema);
  const cpuBefore = cpuUs(database);
  const started = performance.now();
  for (let from = 0; from < operations; from += callers) {
    await writeGroup(client, columns, schema, rows, from, Math.min(callers, operations - from));
  }
  const elapsedMs = performance.now() - started;
  const spent = cpuUs(database) - cpuBefore;
  const after = await countRows(client, schema);
  for (const [index, { table, each }] of tables.entries()) {
    if (after[index] - before[index] !== operations * each) throw new Error(`The replay left rows of ${table} out.`);
  }
  return { operations, elapsedMs, cpuUs: spent };
}

/** Names and types of the columns of each table. */
async function columnsOf(client, schema) {
  const { rows } = await client.query(
    'SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = $1 ORDER BY ordinal_position',
    [schema],
  );
  return tables.map(({ table }) =>
    rows
      .filter(({ table_name }) => table_name === table)
      .map(({ column_name, data_type }) => ({ name: `"${column_name}"`, type: data_type })),
  );
}

/** The rows of the newest spawns, by table, the oldest first. */
async function readNewest(client, columns, source, spawns) {
  const found = [];
  for (const [index, { table, key, each }] of tables.entries()) {
    const names = columns[index].map(({ name }) => name).join(', ');
    const { rows } = await client.query({
      text: `SELECT ${names} FROM "${source}"."${table}" ORDER BY "${key}" DESC LIMIT ${spawns * each}`,
      rowMode: 'array',
    });
    if (rows.length !== spawns * each) throw new Error(`${table} has fewer rows than ${spawns} spawns leave.`);
    found.push(rows.reverse());
  }
  return found;
}

/** Rows are given as values where there is one spawn, as an array for each column where there are more. */
async function writeGroup(client, columns, schema, rows, from, spawns) {
  const isSingle = spawns === 1;
  const values = [];
  for (const [index, { each }] of tables.entries()) {
    const part = rows[index].slice(from * each, (from + spawns) * each);
    if (isSingle) values.push(...part.flat());
    else for (let column = 0; column < columns[index].length; column++) values.push(part.map((row) => row[column]));
  }
  const name = isSingle ? 'single' : 'group';
  const text = textOf(columns, schema, isSingle);
  await client.query({ name, text, values: [...values, spawns] });
}

const texts = {};

function textOf(columns, schema, isSingle) {
  texts[isSingle] ??= buildText(columns, schema, isSingle);
  return texts[isSingle];
}

function buildText(columns, schema, isSingle) {
  let number = 0;
  const inserts = tables.map(({ table, each }, index) => {
    const into = `INSERT INTO "${schema}"."${table}" (${columns[index].map(({ name }) => name).join(', ')})`;
    if (!isSingle)
      return `${into} SELECT * FROM unnest(${columns[index].map(({ type }) => `$${++number}::${type}[]`).join(', ')})`;
    const row = () => `(${columns[index].map(() => `$${++number}`).join(', ')})`;
    return `${into} VALUES ${Array.from({ length: each }, row).join(', ')}`;
  });
  const parts = inserts.map((insert, index) => `written_${index} AS (${insert})`);
  const spawns = `$${number + 1}::bigint`;
  return `WITH ${parts.join(', ')} UPDATE "${schema}"."accounts"
    SET "children_used" = "children_used" + ${spawns}, "born" = "born" + ${spawns} WHERE "n" = 1`;
}

async function countRows(client, schema) {
  const counts = [];
  for (const { table } of tables) {
    const { rows } = await client.query(`SELECT count(*) AS rows FROM "${schema}"."${table}"`);
    counts.push(Number(rows[0].rows));
  }
  return counts;
}

function cpuUs(database) {
  const { user, system } = process.cpuUsage();
  return user + system + serverCpuUs(database);
}
