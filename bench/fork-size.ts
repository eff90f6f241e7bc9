import { statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createKernel, type Kernel, type Pid } from '../src/index.js';
import { inFolder, median, rate } from './support.js';

export interface ForkRates {
  readonly small: number;
  readonly large: number;
  readonly ratio: number;
  /** WAL pages per fork of a lone caller. */
  readonly pagesSmall: number;
  readonly pagesLarge: number;
}

const rounds = 7;
const forks = 200;
const callers = 64;

/** fork of a view with few and with many objects, on two databases that take turns. */
export function forkRates(few: number, many: number): Promise<ForkRates> {
  return inFolder(async (folder) => {
    const small = await filled(join(folder, 'small.db'), few);
    const large = await filled(join(folder, 'large.db'), many);
    const measured: { small: number; large: number }[] = [];
    for (let round = 0; round <= rounds; round++) {
      const one = await rate(forks, callers, () => fork(small));
      const two = await rate(forks, callers, () => fork(large));
      if (round > 0) measured.push({ small: one, large: two });
    }
    const pagesSmall = await pagesPerFork(small);
    const pagesLarge = await pagesPerFork(large);
    await small.kernel.shutdown();
    await large.kernel.shutdown();
    return {
      small: median(measured.map((round) => round.small)),
      large: median(measured.map((round) => round.large)),
      ratio: median(measured.map((round) => round.large / round.small)),
      pagesSmall,
      pagesLarge,
    };
  });
}

interface Filled {
  readonly path: string;
  readonly kernel: Kernel;
  readonly parent: Pid;
}

async function filled(path: string, objects: number): Promise<Filled> {
  const kernel = await createKernel({ store: path, durability: 'normal' });
  const parent = await kernel.processes.spawn({ goal: 'fill' });
  await rate(objects, 256, (n) => kernel.memory.create(parent, { type: 'observation', payload: { n } }));
  await kernel.shutdown();
  return { path, kernel: await createKernel({ store: path }), parent };
}

function fork({ kernel, parent }: Filled): Promise<Pid> {
  return kernel.processes.fork(parent, { mode: 'copy' });
}

const walBatches = 8;
const walForks = 50;

/** Counts the pages in the write-ahead log after batches of forks that begin with an empty one: a split is rare and dear. */
async function pagesPerFork(place: Filled): Promise<number> {
  const db = new Database(place.path);
  let pages = 0;
  for (let batch = 0; batch < walBatches; batch++) {
    db.pragma('wal_checkpoint(TRUNCATE)');
    for (let index = 0; index < walForks; index++) await fork(place);
    pages += (statSync(`${place.path}-wal`).size - 32) / (4096 + 24);
  }
  db.close();
  return pages / (walBatches * walForks);
}
