import { expect, it } from 'vitest';
import { Store } from '../../src/base/store.js';
import { ProcessRepository } from '../../src/kernel/process/process-repository.js';
import { openKernel } from '../support/kernel.js';

it('statements that are asked for at once are not queued in the driver, which warns of that', async () => {
  const warnings: Error[] = [];
  const add = (warning: Error) => void warnings.push(warning);
  process.on('warning', add);
  try {
    const kernel = await openKernel({ node: { executor: false } });
    const pids = [await kernel.processes.spawn({}), await kernel.processes.spawn({}), await kernel.processes.spawn({})];
    const repository = kernel.container.get(ProcessRepository);
    const find = () =>
      kernel.container.get(Store).read((tx) => Promise.all(pids.map((pid) => repository.find(tx, pid))));
    for (const rows of await Promise.all([find(), find(), find()])) {
      expect(rows.map((row) => row?.pid)).toEqual(pids);
    }
    // Warnings are told in a later turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', add);
  }
});
