import { describe, expect, it } from 'vitest';
import { defineImage, type KernelError } from '../../src/index.js';
import { gate, pollUntil } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';

describe('what a body spends', () => {
  it('is spent once, however often the body is run, and a rerun gets the same refusal', async () => {
    const store = await newStore();
    const { opened, open } = gate();
    const image = defineImage({
      name: 'spender',
      run: async (ctx) => {
        await ctx.charge({ tokens: 30, costMicros: 5 });
        const reservation = await ctx.reserve({ tokens: 50 });
        const refused = await ctx.charge({ tokens: 21 }).then(
          () => 'charged',
          (error: KernelError) => error.code,
        );
        await ctx.step('wait', () => opened);
        const { tokens } = await ctx.settle(reservation, { tokens: 60 });
        return [refused, tokens.used, (await ctx.budget()).tokens.left];
      },
    });
    const before = await openKernel({ store, images: [image] });
    const pid = await before.processes.spawn({ image: 'spender', budget: { tokens: 100 } });
    await pollUntil(async () => (await before.processes.journal(pid)).length === 4);
    await before.shutdown({ graceMs: 0 });
    open();
    const after = await openKernel({ store, images: [image] });
    expect((await after.processes.result(pid)).value).toEqual(['BUDGET_EXCEEDED', 90, 10]);
    expect((await after.processes.get(pid)).used).toMatchObject({ tokens: 90, costMicros: 5 });
    expect(await findInconsistencies(after)).toEqual([]);
  });
});
