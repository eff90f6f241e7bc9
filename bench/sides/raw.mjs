/*
 * Raw better-sqlite3, writing what Procura writes: the inserts, updates and deletes of a recorded run, with the same values, on a
 * copy of the file as it was before that run. No ids, no hashes, no checks, no reads, no bodies.
 */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { openLives } from './lives.mjs';
import { recordStatements, watchStatements } from './recorded-writes.mjs';
import { serve } from './serve.mjs';
import { medianStep, perOperation, sumOf } from './statement-count.mjs';

/** Lives that are recorded, by the number of callers; a round replays all of them. */
const recordedLives = { 1: 500, 32: 1_600 };
const warmUpLives = 64;
/** With many callers the lives of one transaction. */
const groupLives = 8;

await serve(async ({ folder, durability }) => {
  watchStatements();
  const tapes = {};
  for (const callers of [1, 32]) tapes[callers] = await record(folder, durability, callers);
  return {
    replay: ({ callers }) => replay(join(folder, 'raw.db'), durability, tapes[callers]),
    facts: { counts: Object.fromEntries(Object.entries(tapes).map(([callers, { counts }]) => [callers, counts])) },
    close: () => undefined,
  };
});

async function record(folder, durability, callers) {
  const path = join(folder, `recorded-${callers}.db`);
  const base = `${path}.base`;
  const lives = recordedLives[callers];
  const { kernel, workloads } = await openLives(path, { durability });
  const run = async (count, onLife) => {
    let next = 0;
    const call = async () => {
      while (next < count) {
        await workloads['parent-child'](next++);
        onLife?.();
      }
    };
    await Promise.all(Array.from({ length: callers }, call));
    await kernel.idle();
  };
  await run(warmUpLives);
  await copyDatabase(path, base);
  const sums = [];
  const { counts, writes, commits } = await recordStatements((recording) =>
    run(lives, () => sums.push(sumOf(recording.counts.values()))),
  );
  await copyDatabase(path, `${path}.after`);
  await kernel.shutdown();
  const perGroup = Math.round((writes.length / lives) * groupLives);
  const tape = { base, lives, writes, commits: new Set(callers === 1 ? commits : groupEnds(writes.length, perGroup)) };
  replay(join(folder, 'checked.db'), durability, tape);
  assertSameRows(join(folder, 'checked.db'), `${path}.after`);
  return { ...tape, counts: callers === 1 ? medianStep(sums) : perOperation(counts.values(), lives) };
}

async function copyDatabase(from, to) {
  const db = new Database(from, { readonly: true });
  await db.backup(to);
  db.close();
}

function groupEnds(count, size) {
  return Array.from({ length: Math.ceil(count / size) }, (_, index) => Math.min(count, (index + 1) * size));
}

function replay(path, durability, { base, lives, writes, commits }) {
  for (const ending of ['', '-wal', '-shm']) rmSync(`${path}${ending}`, { force: true });
  copyFileSync(base, path);
  const db = openLikeTheKernel(path, durability);
  const statements = new Map();
  for (const { sql } of writes) if (!statements.has(sql)) statements.set(sql, db.prepare(sql));
  const prepared = writes.map((write) => ({ ...write, statement: statements.get(write.sql) }));
  const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')];
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  begin.run();
  for (let index = 0; index < prepared.length; index++) {
    const { statement, method, args, changes } = prepared[index];
    const result = statement[method](...args);
    if (method === 'run' && result.changes !== changes) throw new Error('A replayed write changed other rows.');
    if (!commits.has(index + 1)) continue;
    commit.run();
    if (index + 1 < prepared.length) begin.run();
  }
  if (db.inTransaction) commit.run();
  const elapsedMs = performance.now() - started;
  const { user, system } = process.cpuUsage(cpuBefore);
  db.close();
  return { operations: lives, elapsedMs, cpuUs: user + system };
}

/** A replay leaves every table as the recorded run has left it. */
function assertSameRows(replayed, recorded) {
  const db = new Database(replayed);
  db.prepare('ATTACH ? AS recorded').run(recorded);
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  for (const table of tables) {
    const [here, there] = [`SELECT * FROM main."${table}"`, `SELECT * FROM recorded."${table}"`];
    const different = db.prepare(
      `SELECT * FROM (${here} EXCEPT ${there}) UNION ALL SELECT * FROM (${there} EXCEPT ${here})`,
    );
    if (different.all().length > 0) throw new Error(`The replay has left other rows in ${table}.`);
  }
  db.close();
}

function openLikeTheKernel(path, durability) {
  const db = new Database(path);
  for (const pragma of ['foreign_keys = ON', 'secure_delete = ON', 'temp_store = MEMORY', 'cache_size = -16000']) {
    db.pragma(pragma);
  }
  db.pragma('journal_mode = WAL');
  db.pragma(`synchronous = ${durability}`);
  return db;
}
