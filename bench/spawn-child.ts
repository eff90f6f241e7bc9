import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKernel } from '../src/index.js';
import { RawWriter, rowsOfSpawns } from './raw-rows.js';
import { inTempFolder, median, rate } from './support.js';

export interface SpawnRates {
  readonly kernel: number;
  readonly raw: number;
  /** The median of the rounds' ratios. */
  readonly ratio: number;
}

const rounds = 5;
const tool = { resource: 'tool:search', rights: ['call'] } as const;

/** spawnChild with one delegated capability, against better-sqlite3 writing the same rows; the two take turns. */
export function spawnRates(callers: number, spawns: number, durability: 'full' | 'normal'): Promise<SpawnRates> {
  return inTempFolder(async (folder) => {
    const [path, rawPath] = [join(folder, 'kernel.db'), join(folder, 'raw.db')];
    const first = await createKernel({ store: path, durability });
    const parent = await first.processes.spawn({
      budget: { children: 10_000_000 },
      capabilities: [{ ...tool, delegable: true }],
    });
    await first.shutdown();
    copyFileSync(path, rawPath);
    await using kernel = await createKernel({ store: path, durability });
    const raw = new RawWriter(rawPath, durability);
    const spawn = (index: number) =>
      kernel.processes.spawnChild(parent, { goal: `part ${index}`, delegate: [{ ...tool }] });
    const measured: SpawnRates[] = [];
    for (let round = 0; round <= rounds; round++) {
      const ours = await rate(spawns, callers, spawn);
      const theirs = raw.rate(rowsOfSpawns(path, spawns), callers);
      if (round > 0) measured.push({ kernel: ours, raw: theirs, ratio: ours / theirs });
    }
    raw.close();
    return {
      kernel: median(measured.map(({ kernel: value }) => value)),
      raw: median(measured.map(({ raw: value }) => value)),
      ratio: median(measured.map(({ ratio }) => ratio)),
    };
  });
}
