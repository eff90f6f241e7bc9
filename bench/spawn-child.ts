import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKernel } from '../src/index.js';
import { rawRate, rowsOfSpawns } from './raw-rows.js';
import { inFolder, rate } from './support.js';

export interface SpawnRates {
  readonly kernel: number;
  readonly raw: number;
}

/** spawnChild with one delegated capability, against better-sqlite3 writing the same rows, in this order: raw, kernel, raw. */
export function spawnRates(callers: number, count: number, durability: 'full' | 'normal'): Promise<SpawnRates> {
  return inFolder(async (folder) => {
    const path = join(folder, 'kernel.db');
    const template = join(folder, 'template.db');
    const kernel = await createKernel({ store: path, durability });
    const parent = await kernel.processes.spawn({
      budget: { children: 10_000_000 },
      capabilities: [{ resource: 'tool:search', rights: ['call'], delegable: true }],
    });
    const spawn = (index: number) =>
      kernel.processes.spawnChild(parent, {
        goal: `part ${index}`,
        delegate: [{ resource: 'tool:search', rights: ['call'] }],
      });
    await rate(500, callers, spawn);
    await kernel.shutdown();
    copyFileSync(path, template);
    const again = await createKernel({ store: path, durability });
    const measured = await rate(count, callers, (index) =>
      again.processes.spawnChild(parent, {
        goal: `part ${index}`,
        delegate: [{ resource: 'tool:search', rights: ['call'] }],
      }),
    );
    await again.shutdown();
    const rows = rowsOfSpawns(path, count);
    const sync = durability === 'full' ? 'FULL' : 'NORMAL';
    return { kernel: measured, raw: rawRate(template, join(folder, 'raw.db'), rows, callers, sync) };
  });
}
