import { describe, expect, it } from 'vitest';
import { KernelError } from '../../src/index.js';
import { callConcurrently } from '../support/concurrent-callers.js';
import { openKernel } from '../support/kernel.js';
import { runsInSweep } from '../support/seeded.js';
import { findInconsistencies } from '../support/store-consistency.js';

const half = runsInSweep(10_000);

describe(`64 callers that spawn ${2 * half} children of one parent`, () => {
  it('all succeed when the budget is as large', { timeout: 120_000 }, async () => {
    const kernel = await openKernel({ durability: 'normal' });
    const parent = await kernel.processes.spawn({ budget: { children: 2 * half } });
    const { values, errors } = await callConcurrently(64, 2 * half, () => kernel.processes.spawnChild(parent, {}));
    expect(errors).toEqual([]);
    expect(new Set(values).size).toBe(2 * half);
    expect((await kernel.processes.budget(parent)).children).toMatchObject({ used: 2 * half, left: 0 });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('succeed exactly as often as a smaller budget allows, and the refusals name the process whose limit applies', {
    timeout: 120_000,
  }, async () => {
    const kernel = await openKernel({ durability: 'normal' });
    const parent = await kernel.processes.spawn({ budget: { children: half } });
    const { values, errors } = await callConcurrently(64, 2 * half, () => kernel.processes.spawnChild(parent, {}));
    expect([new Set(values).size, errors.length]).toEqual([half, half]);
    const refusals = new Set(errors.map((error) => (error instanceof KernelError ? summary(error) : String(error))));
    expect([...refusals]).toEqual([`BUDGET_EXCEEDED children ${parent}`]);
    expect((await kernel.processes.budget(parent)).children).toMatchObject({ used: half, left: 0 });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

describe('a fork bomb', () => {
  it('stops at the budget, leaves its siblings alone, and ends with one cancel', async () => {
    const kernel = await openKernel({ durability: 'normal' });
    const { processes } = kernel;
    const root = await processes.spawn({});
    const sibling = await processes.spawnChild(root, {});
    const bomb = await processes.spawnChild(root, { budget: { children: 1_000 } });
    const codes = new Set<string>();
    const explode = async (pid: string): Promise<void> => {
      await Promise.all(
        [0, 1, 2].map(async () => {
          try {
            await explode(await kernel.as(pid).fork({}));
          } catch (error) {
            if (!(error instanceof KernelError)) throw error;
            codes.add(summary(error));
          }
        }),
      );
    };
    await explode(bomb);
    expect([...codes]).toEqual([`BUDGET_EXCEEDED children ${bomb}`]);
    expect((await processes.budget(bomb)).children).toMatchObject({ used: 1_000, left: 0 });
    const youngest = (await processes.list({ root, limit: 10_000 })).items.slice(-5);
    expect(await processes.spawnChild(sibling, {})).toMatch(/^p_/);
    const report = await processes.cancel(bomb);
    expect(report.delivered).toHaveLength(1_001);
    for (const { pid } of youngest) {
      await expect(kernel.as(pid).spawnChild({})).rejects.toMatchObject({ code: 'PROCESS_TERMINATED' });
    }
    expect((await processes.budget(root)).children.used).toBe(2);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

function summary({ code, facts }: KernelError): string {
  return `${code} ${String(facts.dimension)} ${String(facts.process)}`;
}
