import { join } from 'node:path';
import { inTempFolder, rate } from './support.js';
import { compareSizes, openFilled, type TwoSizes } from './two-sizes.js';

const rounds = 7;

/** fork of a view with few and with many objects. */
export function forkRates(few: number, many: number): Promise<TwoSizes> {
  return inTempFolder(async (folder) => {
    const withObjects = (name: string, objects: number) =>
      openFilled(join(folder, name), (kernel, parent) =>
        rate(objects, 256, (n) => kernel.memory.create(parent, { type: 'observation', payload: { n } })),
      );
    const small = await withObjects('small.db', few);
    const large = await withObjects('large.db', many);
    return compareSizes(small, large, rounds, ({ kernel, parent }) => kernel.processes.fork(parent, { mode: 'copy' }));
  });
}
