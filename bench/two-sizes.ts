import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { createKernel, type Kernel, type Pid } from '../src/index.js';
import { median, rate } from './support.js';

/** A kernel on a database that was filled and opened again. */
export interface FilledDatabase {
  readonly path: string;
  readonly kernel: Kernel;
  readonly parent: Pid;
}

export interface TwoSizes {
  readonly small: number;
  readonly large: number;
  /** The median of the rounds' ratios. */
  readonly ratio: number;
  /** WAL pages per call of a lone caller. */
  readonly pagesSmall: number;
  readonly pagesLarge: number;
}

const calls = 200;
const callers = 64;

export async function openFilled(
  path: string,
  fill: (kernel: Kernel, parent: Pid) => Promise<unknown>,
): Promise<FilledDatabase> {
  const kernel = await createKernel({ store: path, durability: 'normal' });
  const parent = await kernel.processes.spawn({ goal: 'fill' });
  await fill(kernel, parent);
  await kernel.shutdown();
  return { path, kernel: await createKernel({ store: path }), parent };
}

/** Measures a call on a small and on a large database in turns, and shuts both down. */
export async function compareSizes(
  small: FilledDatabase,
  large: FilledDatabase,
  rounds: number,
  call: (on: FilledDatabase) => Promise<unknown>,
): Promise<TwoSizes> {
  const measured: { small: number; large: number }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const smallRate = await rate(calls, callers, () => call(small));
    const largeRate = await rate(calls, callers, () => call(large));
    if (round > 0) measured.push({ small: smallRate, large: largeRate });
  }
  const pagesSmall = await pagesPerCall(small, call);
  const pagesLarge = await pagesPerCall(large, call);
  await small.kernel.shutdown();
  await large.kernel.shutdown();
  return {
    small: median(measured.map((round) => round.small)),
    large: median(measured.map((round) => round.large)),
    ratio: median(measured.map((round) => round.large / round.small)),
    pagesSmall,
    pagesLarge,
  };
}

const walBatches = 8;
const walCalls = 50;

/** WAL pages per call, over batches that each begin with an empty log: page splits are rare but write many pages. */
async function pagesPerCall(on: FilledDatabase, call: (on: FilledDatabase) => Promise<unknown>): Promise<number> {
  const db = new Database(on.path);
  let pages = 0;
  for (let batch = 0; batch < walBatches; batch++) {
    db.pragma('wal_checkpoint(TRUNCATE)');
    for (let index = 0; index < walCalls; index++) await call(on);
    pages += (statSync(`${on.path}-wal`).size - 32) / (4096 + 24);
  }
  db.close();
  return pages / (walBatches * walCalls);
}
