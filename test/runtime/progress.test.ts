import { describe, expect, it } from 'vitest';
import { defineImage } from '../../src/index.js';
import { gate, pollUntil } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';

describe('progress', () => {
  it('that was reported soon after that of a step is written although the step is over', async () => {
    const { opened, open } = gate();
    const image = defineImage({
      name: 'body',
      run: async (ctx) => {
        await ctx.step('first', () => ctx.progress(1, 3, 'in the step'));
        ctx.progress(2, 3, 'after it');
        await opened;
      },
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'body' });
    await pollUntil(async () => (await kernel.processes.get(pid)).progress?.done === 2);
    open();
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited' });
  });

  it('that is not written yet when the kernel is closed is not lost', async () => {
    const store = await newStore();
    const image = defineImage({
      name: 'body',
      run: async (ctx) => {
        for (let done = 0; done <= 5; done++) ctx.progress(done, 5);
        await ctx.sleep(1_000_000);
      },
    });
    const kernel = await openKernel({ store, images: [image] });
    const pid = await kernel.processes.spawn({ image: 'body' });
    await pollUntil(async () => (await kernel.processes.get(pid)).progress !== undefined);
    await kernel.shutdown();
    const looking = await openKernel({ store, node: { executor: false } });
    expect((await looking.processes.get(pid)).progress).toEqual({ done: 5, total: 5 });
  });
});
