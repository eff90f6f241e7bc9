import { join } from 'node:path';
import { createKernel } from '../src/index.js';
import { elapsedMs, inTempFolder, rate } from './support.js';
import { compareSizes, openFilled, type TwoSizes } from './two-sizes.js';

export interface FlatRates extends TwoSizes {
  /** Opening the large database. */
  readonly openMs: number;
}

const rounds = 5;

/** spawnChild with few and with many processes in the table. */
export function flatRates(few: number, many: number): Promise<FlatRates> {
  return inTempFolder(async (folder) => {
    const withProcesses = (name: string, processes: number) =>
      openFilled(join(folder, name), (kernel, parent) =>
        rate(processes, 256, async (index) => {
          const pid = await kernel.processes.spawnChild(parent, {});
          if (index % 100 !== 0) await kernel.processes.exit(pid);
        }),
      );
    const small = await withProcesses('small.db', few);
    const large = await withProcesses('large.db', many);
    const rates = await compareSizes(small, large, rounds, ({ kernel, parent }) =>
      kernel.processes.spawnChild(parent, {}),
    );
    const openMs = await elapsedMs(async () => {
      const kernel = await createKernel({ store: large.path });
      await kernel.processes.get(large.parent);
      await kernel.shutdown();
    });
    return { ...rates, openMs };
  });
}
