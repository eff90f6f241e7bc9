import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { createKernel, type Kernel, type Pid } from '../src/index.js';
import { median, rate } from './support.js';

/** A database that was filled, opened again. */
export interface Filled {
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
): Promise<Filled> {
  const kernel = await createKernel({ store: path, durability: 'normal' });
  const parent = await kernel.processes.spawn({ goal: 'fill' });
  await fill(kernel, parent);
  await kernel.shutdown();
  return { path, kernel: await createKernel({ store: path }), parent };
}

/** One call on a small and on a large database that take turns, after which both are shut down. */
export async function compareSizes(
  small: Filled,
  large: Filled,
  rounds: number,
  call: (on: Filled) => Promise<unknown>,
): Promise<TwoSizes> {
  const measured: { small: number; large: number }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const one = await rate(calls, callers, () => call(small));
    const two = await rate(calls, callers, () => call(large));
    if (round > 0) measured.push({ small: one, large: two });
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

/** Counts the pages in the write-ahead log after batches of calls that begin with an empty one: a split is rare and dear. */
async function pagesPerCall(on: Filled, call: (on: Filled) => Promise<unknown>): Promise<number> {
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
