import { describe, expect, it } from 'vitest';
import { defineImage } from '../../src/index.js';
import { gate, pollUntil } from '../support/gate.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

const child = defineImage({ name: 'child', run: () => 'done' });

describe('the journal of a process', () => {
  it('lists the answered calls in the order of their answers, then those that have begun', async () => {
    const store = await newStore();
    const { opened, open } = gate();
    const image = defineImage({
      name: 'body',
      run: async (ctx) => {
        const pid = await ctx.step('hire', () => ctx.spawnChild({ image: 'child' }));
        await ctx.wait(pid);
        await ctx
          .step('pay', () => {
            throw new Error('no money');
          })
          .catch(() => undefined);
        await Promise.all([ctx.sleep(10_000_000), ctx.step('slow', () => opened)]);
      },
    });
    const before = await openKernel({ store, images: [child, image] });
    const pid = await before.processes.spawn({ image: 'body' });
    await pollUntil(async () => (await before.processes.journal(pid)).length === 6);
    const entries = await before.processes.journal(pid);
    expect(entries.map(({ key, status }) => [key, status])).toEqual([
      ['step hire #1 > spawnChild child #1', 'done'],
      ['step hire #1', 'done'],
      [expect.stringMatching(/^wait p_\w+ #1$/), 'done'],
      ['step pay #1', 'failed'],
      [expect.stringMatching(/^s(leep|tep slow) /), 'started'],
      [expect.stringMatching(/^s(leep|tep slow) /), 'started'],
    ]);
    expect(entries[0]).toEqual({ key: entries[0]?.key, status: 'done', attempt: 1, fence: 1, at: expect.any(Number) });
    const sleep = entries.find(({ key }) => key === 'sleep #1');
    expect(sleep?.dueAt).toBe((sleep?.at ?? 0) + 10_000_000);
    expect(new Set(entries.map(({ fence }) => fence)).size).toBe(1);
    await before.shutdown({ graceMs: 10 });

    const after = await openKernel({ store, images: [child, image] });
    open();
    const slow = async () => (await after.processes.journal(pid)).find(({ key }) => key === 'step slow #1');
    await pollUntil(async () => (await slow())?.status === 'done');
    const [first] = await after.processes.journal(pid);
    expect(first).toEqual(entries[0]);
    expect((await slow())?.fence).toBeGreaterThan(first?.fence ?? 0);
  });

  it('is empty for one that has not run, or runs elsewhere', async () => {
    const kernel = await openKernel();
    expect(await kernel.processes.journal(await kernel.processes.spawn())).toEqual([]);
  });

  it('of nobody is refused', async () => {
    const kernel = await openKernel();
    expect((await refusal(kernel.processes.journal('p_none'))).code).toBe('NO_SUCH_PROCESS');
    expect((await refusal(kernel.processes.journal(7 as never))).code).toBe('INVALID_INPUT');
  });
});
