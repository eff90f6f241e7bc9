import { it } from 'vitest';
import { Store } from '../../src/base/store.js';
import { defineImage } from '../../src/index.js';
import { gate } from '../support/gate.js';
import { openKernel } from '../support/kernel.js';

const listener = defineImage({ name: 'listener', run: async (ctx) => void (await ctx.receive()) });

it('idle sees a process that begins to wait while it looks', async () => {
  const kernel = await openKernel({ images: [listener] });
  const [blocked, mayWrite, looked, mayAnswer, waits] = [gate(), gate(), gate(), gate(), gate()];
  kernel.events.on('process.waiting', waits.open);
  const pid = await kernel.processes.spawn({ image: 'listener', held: true });
  const store = kernel.container.get(Store);
  const { read, write } = store;
  // The wait of the process is not recorded yet: nothing of it uses a slot, and the table says that it runs.
  kernel.events.on('process.started', () => {
    store.write = async (...args) => {
      blocked.open();
      await mayWrite.opened;
      return write.apply(store, args) as never;
    };
  });
  await kernel.processes.resume(pid);
  await blocked.opened;
  store.read = async (...args) => {
    store.read = read;
    const answer = await read.apply(store, args);
    looked.open();
    await mayAnswer.opened;
    return answer as never;
  };
  const idle = kernel.idle();
  await looked.opened;
  mayWrite.open();
  await waits.opened;
  mayAnswer.open();
  await idle;
});
