import { describe, expect, it } from 'vitest';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { openRawTables } from '../support/storage/raw-tables.js';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('what a store remembers', () => {
  it('is not used for a read after another program has changed it', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store });
    const pid = await kernel.processes.spawn({ name: 'before' });
    expect((await kernel.processes.get(pid)).name).toBe('before');
    await openRawTables(store).update('processes', { pid }, { name: 'after' });
    await nextTurn();
    expect((await kernel.processes.get(pid)).name).toBe('after');
  });

  it('is not used for a decision after another program has changed it', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store });
    const pid = await kernel.processes.spawn({ budget: { tokens: 100 } });
    await kernel.processes.charge(pid, { tokens: 10 });
    await openRawTables(store).update('accounts', {}, { tokens_used: 95 });
    expect(await refusal(kernel.processes.charge(pid, { tokens: 10 }))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    await kernel.processes.charge(pid, { tokens: 5 });
  });

  it('is that of the last commit of any kernel of the program', async () => {
    const store = await newStore();
    const [first, second] = [await openKernel({ store }), await openKernel({ store })];
    const pid = await first.processes.spawn({});
    for (let round = 0; round < 20; round++) {
      const [writer, reader] = round % 2 === 0 ? [first, second] : [second, first];
      await writer.processes.charge(pid, { tokens: 1 });
      expect((await reader.processes.budget(pid)).tokens.used).toBe(round + 1);
    }
  });

  it('does not change when a caller changes what it was given', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({ args: { list: [1] }, labels: { a: 'b' } });
    const given = await kernel.processes.get(pid);
    (given.labels as Record<string, string>).a = 'changed';
    expect((await kernel.processes.get(pid)).labels).toEqual({ a: 'b' });
  });

  it('is taken back with a unit that is refused, and written with the others of its group', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store });
    const pid = await kernel.processes.spawn({ budget: { tokens: 5 } });
    const outcomes = await Promise.allSettled([3, 4, 2, 1].map((tokens) => kernel.processes.charge(pid, { tokens })));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect((await kernel.processes.budget(pid)).tokens.used).toBe(5);
    expect(await openRawTables(store).rows('accounts')).toMatchObject([{ tokens_used: 5 }]);
  });

  it('is forgotten with a group that could not be committed', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store });
    const pid = await kernel.processes.spawn({});
    // A row that cannot be written makes the group fail: nothing of it is kept, in the file or in memory.
    const refused = await openRawTables(store).refuse('UPDATE', 'accounts');
    await expect(kernel.processes.charge(pid, { tokens: 7 })).rejects.toMatchObject({ code: expect.any(String) });
    await refused[Symbol.asyncDispose]();
    expect((await kernel.processes.budget(pid)).tokens.used).toBe(0);
    await kernel.processes.charge(pid, { tokens: 1 });
    expect((await kernel.processes.budget(pid)).tokens.used).toBe(1);
  });
});
