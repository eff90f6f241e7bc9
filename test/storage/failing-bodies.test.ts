import { describe, expect, it } from 'vitest';
import { createKernel, defineImage, type Kernel } from '../../src/index.js';
import { newStore } from '../support/kernel.js';
import { isSweep } from '../support/seeded.js';
import { FailingRepositories } from '../support/storage/failing-repositories.js';
import { findInconsistencies } from '../support/store-consistency.js';

/** Every one in a sweep. */
const stride = isSweep ? 1 : 7;

const child = defineImage({ name: 'child', run: async (ctx) => (await ctx.receive()).body as string });
const parent = defineImage({
  name: 'parent',
  run: async (ctx) => {
    const pid = await ctx.spawnChild({ image: 'child' });
    const first = await ctx.step('first', () => 'first');
    const note = await ctx.memory.create({ type: 'observation', payload: { first } });
    await ctx.send(pid, 'hello');
    const { value } = await ctx.wait(pid);
    await ctx.sleep(1);
    return [first, value ?? null, (await ctx.memory.read(note)).payload];
  },
});
const whole = ['first', 'hello', { first: 'first' }];

describe('a store operation that fails under bodies', () => {
  for (const when of ['before', 'after'] as const) {
    it(`does not change how they end, whichever it is: ${when} its work`, { timeout: 120_000 }, async () => {
      const failing = new FailingRepositories();
      const kernel = await createKernel({
        logger: 'silent',
        store: await newStore(),
        durability: 'normal',
        modules: [failing.module()],
        images: [child, parent],
        node: { leaseMs: 150 },
      });
      const before = failing.calls;
      expect(await endOf(kernel)).toEqual(whole);
      const operations = failing.calls - before;
      const failed = new Set<string>();
      for (let nth = 1; nth <= operations; nth += stride) {
        failing.arm(nth, when);
        const value = await endOf(kernel);
        failing.disarm();
        if (failing.failed !== undefined) failed.add(failing.failed);
        expect({ nth, failed: failing.failed, value }).toEqual({ nth, failed: failing.failed, value: whole });
      }
      expect(await findInconsistencies(kernel)).toEqual([]);
      expect(failed.size).toBeGreaterThan(stride === 1 ? 15 : 5);
      await kernel.shutdown();
    });
  }
});

/** Spawns until that is not what fails. */
async function endOf(kernel: Kernel): Promise<unknown> {
  for (;;) {
    const pid = await kernel.processes.spawn({ image: 'parent' }).catch(() => undefined);
    if (pid === undefined) continue;
    for (;;) {
      const ended = await kernel.processes.result(pid, { timeoutMs: 20_000 }).catch((error: { code: string }) => error);
      if ('code' in ended && ended.code === 'STORE_IO') continue;
      return 'value' in ended ? ended.value : ended;
    }
  }
}
