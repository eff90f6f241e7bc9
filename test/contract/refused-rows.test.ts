import { describe, expect, it } from 'vitest';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { refuseName } from '../support/storage/refused-names.js';
import { findInconsistencies } from '../support/store-consistency.js';

const codes = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'kept' : (outcome.reason as { code: string }).code));

describe('a row that the engine refuses when it is written', () => {
  it('is refused to its own call, and to none of those that share its transaction', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    const parent = await kernel.processes.spawn({ name: 'parent', budget: { children: 100 } });
    await refuseName(store, 'guilty');
    const names = ['a', 'b', 'guilty', 'c', 'guilty', 'd'];
    const outcomes = await Promise.allSettled(names.map((name) => kernel.processes.spawnChild(parent, { name })));
    expect(codes(outcomes)).toEqual(['kept', 'kept', 'STORE_FAILED', 'kept', 'STORE_FAILED', 'kept']);
    const children = await kernel.processes.children(parent);
    expect(children.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
    expect((await kernel.processes.budget(parent)).children).toMatchObject({ used: 4 });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('takes nothing back of what its call has told others', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    await refuseName(store, 'guilty');
    const seen: string[] = [];
    using _listener = kernel.events.on('process.spawned', ({ pid }) => seen.push(pid ?? ''));
    const outcomes = await Promise.allSettled(['a', 'guilty', 'b'].map((name) => kernel.processes.spawn({ name })));
    const pids = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(seen).toEqual(pids);
    const { items } = await kernel.events.list({ types: ['process.spawned'] });
    expect(items.map(({ pid }) => pid)).toEqual(pids);
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });

  it('is refused as well when it comes alone, and leaves the store as it was', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    await refuseName(store, 'guilty');
    for (let n = 0; n < 3; n++)
      expect((await refusal(kernel.processes.spawn({ name: 'guilty' }))).code).toBe('STORE_FAILED');
    expect((await kernel.processes.list()).items).toEqual([]);
    await kernel.processes.spawn({ name: 'later' });
    expect((await kernel.processes.list()).items).toMatchObject([{ name: 'later' }]);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('is refused alone among more calls than a transaction has, while others keep coming', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    await refuseName(store, 'guilty');
    const outcomes = await Promise.allSettled(
      Array.from({ length: 300 }, async (_, n) => {
        const name = n % 100 === 7 ? 'guilty' : `p${n}`;
        const spawned = await kernel.processes.spawn({ name });
        // The calls that follow arrive while others are run one by one.
        await kernel.processes.exit(spawned);
      }),
    );
    const refused = codes(outcomes).flatMap((code, n) => (code === 'kept' ? [] : [`${n} ${code}`]));
    expect(refused).toEqual(['7 STORE_FAILED', '107 STORE_FAILED', '207 STORE_FAILED']);
    expect((await kernel.processes.list({ status: 'exited', limit: 1_000 })).items).toHaveLength(297);
  });
});
