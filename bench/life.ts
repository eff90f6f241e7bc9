import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createKernel, defineImage } from '../src/index.js';
import { inTempFolder, median, rate } from './support.js';

const rounds = 3;

/** Whole lives of children per second: spawned, an empty body run, exited, waited for by the parent. */
export function lifeRate(callers: number, lives: number): Promise<number> {
  return inTempFolder(async (folder) => {
    const images = [defineImage({ name: 'empty', run: async () => undefined })];
    await using kernel = await createKernel({ store: join(folder, 'life.db'), images });
    const parent = await kernel.processes.spawn({});
    const live = async () => {
      const child = await kernel.processes.spawnChild(parent, { image: 'empty' });
      await kernel.processes.wait(parent, child);
    };
    const rates: number[] = [];
    for (let round = 0; round <= rounds; round++) rates.push(await rate(lives, callers, live));
    return median(rates.slice(1));
  });
}

/** Bytes of heap per process whose body waits, measured in a separate program that runs the built package. */
export function bytesPerWaiting(count: number): Promise<number> {
  return inTempFolder(async (folder) => {
    const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
    const args = ['--expose-gc', file('../test/load/waiting.mjs'), file('../dist/index.js')];
    const { stdout } = spawnSync(process.execPath, [...args, join(folder, 'waiting.db'), String(count)], {
      encoding: 'utf8',
    });
    return Number(/^bytes (\d+)$/m.exec(stdout)?.[1]) / count;
  });
}
