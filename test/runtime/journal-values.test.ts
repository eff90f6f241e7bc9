import { describe, expect, it } from 'vitest';
import { defineImage, type Kernel, type Pid } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

const image = defineImage({
  name: 'asker',
  run: async (ctx) => {
    await ctx.step('small', () => ({ n: 1 }));
    await ctx.step('large', () => 'x'.repeat(20_000));
    await ctx
      .step('broken', () => {
        throw new Error('it broke');
      })
      .catch(() => undefined);
    await ctx.receive();
  },
});

async function startAsker(store: string): Promise<{ kernel: Kernel; pid: Pid }> {
  const kernel = await openKernel({ store, images: [image] });
  const pid = await kernel.processes.spawn({ image: 'asker' });
  await kernel.idle();
  return { kernel, pid };
}

describe('the journal of a process', () => {
  it('has values on request, cut where they are long, also with readOnly', async () => {
    const store = await newStore();
    const { kernel, pid } = await startAsker(store);
    const entries = await kernel.processes.journal(pid, { values: true });
    const [small, large, broken] = entries;
    expect(small).toMatchObject({ key: 'step small #1', status: 'done', value: { n: 1 } });
    expect(small).not.toHaveProperty('cutFrom');
    expect(large).toMatchObject({ key: 'step large #1', cutFrom: 20_002 });
    expect(large?.value).toBe(`"${'x'.repeat(16_383)}`);
    expect(broken).toMatchObject({
      key: 'step broken #1',
      status: 'failed',
      value: { message: expect.stringContaining('it broke') },
    });
    await kernel.shutdown();
    const reading = await openKernel({ store, readOnly: true });
    expect(await reading.processes.journal(pid, { values: true })).toEqual(entries);
  });

  it('has none without a request, and refuses options that it does not know', async () => {
    const { kernel, pid } = await startAsker(await newStore());
    for (const options of [undefined, {}, { values: false }]) {
      const entries = await kernel.processes.journal(pid, options);
      expect(entries.length).toBeGreaterThanOrEqual(3);
      expect(entries.some((entry) => 'value' in entry)).toBe(false);
    }
    expect((await refusal(kernel.processes.journal(pid, { value: true } as never))).code).toBe('INVALID_INPUT');
    expect((await refusal(kernel.processes.journal('p_none', { values: true }))).code).toBe('NO_SUCH_PROCESS');
  });

  it('has whole values and unambiguous paths on request', async () => {
    const { kernel, pid } = await startAsker(await newStore());
    const entries = await kernel.processes.journal(pid, { values: 'whole' });
    expect(entries[1]).toMatchObject({ key: 'step large #1', path: ['step large #1'], value: 'x'.repeat(20_000) });
    expect(entries.some((entry) => 'cutFrom' in entry)).toBe(false);
    expect((await refusal(kernel.processes.journal(pid, { values: 'all' } as never))).code).toBe('INVALID_INPUT');
  });

  it('shows at most 4,194,304 characters of values in all', async () => {
    const many = defineImage({
      name: 'many',
      run: async (ctx) => {
        for (let n = 0; n < 300; n++) await ctx.step(`s${n}`, () => 'y'.repeat(16_000));
      },
    });
    const kernel = await openKernel({ images: [many], durability: 'normal' });
    const pid = await kernel.processes.spawn({ image: 'many' });
    await kernel.processes.result(pid);
    const entries = await kernel.processes.journal(pid, { values: true });
    const shown = entries.reduce((sum, { value }) => sum + String(value).length, 0);
    expect(entries).toHaveLength(300);
    expect(shown).toBeLessThanOrEqual(4_194_304);
    expect(entries.at(-1)).toMatchObject({ value: '', cutFrom: 16_002 });
  });
});
