import { expect, it } from 'vitest';
import { KernelError } from '../../src/index.js';
import { callConcurrently } from '../support/concurrent-callers.js';
import { newStore, openKernel } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';

it('three kernels that charge 4,000 times each spend exactly a budget of 5,000', { timeout: 120_000 }, async () => {
  const store = await newStore();
  const kernels = [];
  for (let n = 0; n < 3; n++) kernels.push(await openKernel({ store, durability: 'normal' }));
  const [first] = kernels;
  if (first === undefined) throw new Error('there is no kernel');
  const root = await first.processes.spawn({ budget: { tokens: 5_000 } });
  const children = await Promise.all(kernels.map((kernel) => kernel.processes.spawnChild(root, {})));
  const outcomes = await Promise.all(
    kernels.map((kernel, index) =>
      callConcurrently(16, 4_000, () => kernel.processes.charge(children[index] ?? root, { tokens: 1 })),
    ),
  );
  expect(outcomes.flatMap(({ values }) => values)).toHaveLength(5_000);
  const codes = outcomes.flatMap(({ errors }) =>
    errors.map((error) => (error instanceof KernelError ? error.code : String(error))),
  );
  expect([codes.length, new Set(codes)]).toEqual([7_000, new Set(['BUDGET_EXCEEDED'])]);
  expect((await first.processes.budget(root)).tokens).toMatchObject({ used: 5_000, left: 0, overrun: 0 });
  const used = await Promise.all(children.map(async (child) => (await first.processes.get(child)).used.tokens ?? 0));
  expect(used.reduce((sum, tokens) => sum + tokens, 0)).toBe(5_000);
  expect(await findInconsistencies(first)).toEqual([]);
});
