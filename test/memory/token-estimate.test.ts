import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../src/index.js';
import { refusal } from '../support/kernel.js';
import { type KernelFixture, kernelFixture } from '../support/kernel-fixture.js';
import { usualTexts } from '../support/memory/sample-texts.js';
import { openRawTables } from '../support/storage/raw-tables.js';

/** The limits that docs/guide.md names for texts that are estimated less well than others. */
const exceptions: Readonly<Record<string, readonly [least: number, most: number]>> = {
  hindi: [0.85, 2.5],
  vietnamese: [0.85, 2.5],
  hashes: [0.8, 1.6],
  base64: [0.8, 1.6],
};

/** A kernel on a store that was begun without a tokenizer. */
async function estimatingKernel(): Promise<KernelFixture> {
  const { kernel, path } = await kernelFixture();
  await kernel.shutdown();
  expect(await openRawTables(path).update('settings', { name: 'token_counter' }, { value: 'estimate' })).toBe(1);
  return kernelFixture({ store: path });
}

async function estimateOf(kernel: KernelFixture['kernel'], pid: string, payload: JsonValue): Promise<number> {
  const handle = await kernel.memory.create(pid, { type: 'observation', payload });
  return (await kernel.memory.read(pid, handle)).tokens;
}

describe('the estimate of tokens', () => {
  it('is near the count of o200k_base for usual texts, and never far below it', async () => {
    const { kernel } = await estimatingKernel();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    const wrong: Record<string, number> = {};
    for (const [name, text] of Object.entries(usualTexts)) {
      const ratio = (await estimateOf(kernel, pid, text)) / countTokens(text);
      const [least, most] = exceptions[name] ?? [0.85, 1.6];
      if (ratio < least || ratio > most) wrong[name] = ratio;
    }
    expect(wrong).toEqual({});
  });

  it('of a mixture of usual texts is at least their count, and not more than half above it', async () => {
    const { kernel } = await estimatingKernel();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    const all = Object.values(usualTexts).join('\n\n');
    const ratio = (await estimateOf(kernel, pid, all)) / countTokens(all);
    expect([ratio >= 1, ratio <= 1.5]).toEqual([true, true]);
  });

  it('is a whole number that grows with the text', async () => {
    const { kernel } = await estimatingKernel();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    expect(await estimateOf(kernel, pid, '')).toBe(0);
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', maxLength: 100 }),
        fc.constantFrom('word ', '漢字', '🎉', '12 '),
        async (text, more) => {
          fc.pre(text.isWellFormed());
          const [short, long] = [
            await estimateOf(kernel, pid, text),
            await estimateOf(kernel, pid, text + more.repeat(5)),
          ];
          expect([Number.isSafeInteger(short), long > short]).toEqual([true, true]);
        },
      ),
      { numRuns: 100, seed: 7 },
    );
  });

  it('holds limits of contexts and budgets as a tokenizer does', async () => {
    const { kernel, refused } = await estimatingKernel();
    const pid = await kernel.processes.spawn({ image: 'worker', budget: { materializedTokens: 1_000 } });
    for (const text of Object.values(usualTexts)) await kernel.memory.create(pid, { type: 'evidence', payload: text });
    for (const tokensMax of [0, 1, 20, 100, 500]) {
      const { text, tokens, countedBy, manifest } = await kernel.memory.materialize(pid, { tokensMax });
      expect([tokens <= tokensMax, countedBy, text === '']).toEqual([true, 'estimate', tokens === 0]);
      const selected = manifest.filter(({ included }) => included).reduce((sum, entry) => sum + entry.tokens, 0);
      expect(selected).toBeLessThanOrEqual(tokens);
    }
    const { used } = (await kernel.processes.budget(pid)).materializedTokens;
    const whole = { tokensMax: 100_000 };
    const { code, facts } = await refused(() => kernel.memory.materialize(pid, whole));
    expect([code, facts]).toMatchObject(['BUDGET_EXCEEDED', { dimension: 'materializedTokens', limit: 1_000, used }]);
    expect((await refusal(kernel.memory.materialize(pid, { tokensMax: -1 }))).code).toBe('INVALID_INPUT');
  });
});
