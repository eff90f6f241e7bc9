import { statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createKernel, type Kernel, type Pid } from '../src/index.js';
import { elapsedMs, inFolder, median, rate } from './support.js';

export interface FlatRates {
  readonly small: number;
  readonly large: number;
  readonly ratio: number;
  /** WAL pages per spawn of a lone caller. */
  readonly pagesSmall: number;
  readonly pagesLarge: number;
  /** Opening the large database. */
  readonly openMs: number;
}

const rounds = 5;
const spawns = 2_000;
const callers = 64;

/** spawnChild with few and with many processes in the table, on two databases that take turns. */
export function flatRates(few: number, many: number): Promise<FlatRates> {
  return inFolder(async (folder) => {
    const small = await filled(join(folder, 'small.db'), few);
    const large = await filled(join(folder, 'large.db'), many);
    const measured: { small: number; large: number }[] = [];
    for (let round = 0; round <= rounds; round++) {
      const one = await rate(spawns / 10, callers, () => small.kernel.processes.spawnChild(small.parent, {}));
      const two = await rate(spawns / 10, callers, () => large.kernel.processes.spawnChild(large.parent, {}));
      if (round > 0) measured.push({ small: one, large: two });
    }
    const pagesSmall = await pagesPerSpawn(small);
    const pagesLarge = await pagesPerSpawn(large);
    await small.kernel.shutdown();
    await large.kernel.shutdown();
    const openMs = await elapsedMs(async () => {
      const kernel = await createKernel({ store: large.path });
      await kernel.processes.get(large.parent);
      await kernel.shutdown();
    });
    return {
      small: median(measured.map((round) => round.small)),
      large: median(measured.map((round) => round.large)),
      ratio: median(measured.map((round) => round.large / round.small)),
      pagesSmall,
      pagesLarge,
      openMs,
    };
  });
}

interface Filled {
  readonly path: string;
  readonly kernel: Kernel;
  readonly parent: Pid;
}

async function filled(path: string, processes: number): Promise<Filled> {
  const kernel = await createKernel({ store: path, durability: 'normal' });
  const parent = await kernel.processes.spawn({ goal: 'fill' });
  await rate(processes, 256, async (index) => {
    const pid = await kernel.processes.spawnChild(parent, {});
    if (index % 100 !== 0) await kernel.processes.exit(pid);
  });
  await kernel.shutdown();
  return { path, kernel: await createKernel({ store: path }), parent };
}

const walBatches = 8;
const walSpawns = 50;

/** Counts the pages in the write-ahead log after batches of spawns that begin with an empty one: a split is rare and dear. */
async function pagesPerSpawn({ path, kernel, parent }: Filled): Promise<number> {
  const db = new Database(path);
  let pages = 0;
  for (let batch = 0; batch < walBatches; batch++) {
    db.pragma('wal_checkpoint(TRUNCATE)');
    for (let index = 0; index < walSpawns; index++) await kernel.processes.spawnChild(parent, {});
    pages += (statSync(`${path}-wal`).size - 32) / (4096 + 24);
  }
  db.close();
  return pages / (walBatches * walSpawns);
}
