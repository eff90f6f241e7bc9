import { describe, expect, it } from 'vitest';
import type { Kernel, Page, Pid, ProcessFilter, ProcessRecord, ProcessTree } from '../../src/index.js';
import { kernelFixture, worker } from '../support/kernel-fixture.js';
import { RawTables } from '../support/storage/raw-tables.js';

async function listPids(kernel: Kernel, filter: ProcessFilter): Promise<Pid[]> {
  return (await kernel.processes.list(filter)).items.map(({ pid }) => pid);
}

describe('get', () => {
  it('refuses a process that does not exist', async () => {
    const { kernel, refused } = await kernelFixture();
    expect(await refused(() => kernel.processes.get('p_none'))).toEqual({
      code: 'NO_SUCH_PROCESS',
      facts: { pid: 'p_none' },
    });
  });
});

describe('list', () => {
  it('shows every process in the order of creation, ended ones too', async () => {
    const { kernel } = await kernelFixture();
    const a = await kernel.processes.spawn({});
    const b = await kernel.processes.spawnChild(a, {});
    await kernel.processes.exit(b);
    const c = await kernel.processes.spawn({});
    expect(await kernel.processes.list()).toEqual({
      items: await Promise.all([a, b, c].map((pid) => kernel.processes.get(pid))),
    });
  });

  it('filters by each key, and by their conjunction', async () => {
    const { kernel, edit } = await kernelFixture();
    const root = await kernel.processes.spawn({
      image: 'worker',
      name: 'top',
      labels: { team: 'a', k: '1' },
      owner: { session: 's', hook: 'h' },
    });
    const child = await kernel.processes.spawnChild(root, { image: 'base', name: "it's 100%_" });
    const gone = await kernel.processes.spawnChild(root, { image: 'base', labels: { team: 'a' } });
    const waiting = await kernel.processes.spawnChild(child, { image: 'worker', owner: { session: 's' } });
    await kernel.processes.fail(gone, 'x');
    await edit(waiting, {
      status: 'waiting',
      node: 'n_other',
      wait: JSON.stringify({ kind: 'timer', what: '', since: 1 }),
    });
    await edit(child, { created_at: 5 });
    const { createdAt } = await kernel.processes.get(root);
    const cases: [ProcessFilter, Pid[]][] = [
      [{ status: 'runnable' }, [root]],
      [{ status: 'failed' }, [gone]],
      [{ status: ['waiting', 'failed'] }, [gone, waiting]],
      [{ status: [] }, []],
      [{ live: true }, [root, child, waiting]],
      [{ live: false }, [gone]],
      [{ kind: 'agent' }, [root, waiting]],
      [{ image: 'base' }, [child, gone]],
      [{ image: 'base@1' }, [child, gone]],
      [{ image: 'bas' }, []],
      [{ name: 'top' }, [root]],
      [{ name: "it's 100%_" }, [child]],
      [{ name: '%' }, []],
      [{ labels: { team: 'a' } }, [root, gone]],
      [{ labels: { team: 'a', k: '1' } }, [root]],
      [{ labels: { team: 'b' } }, []],
      [{ parent: root }, [child, gone]],
      [{ root }, [root, child, gone, waiting]],
      [{ root: child }, []],
      [{ node: 'n_other' }, [waiting]],
      [{ waiting: 'timer' }, [waiting]],
      [{ waiting: 'child' }, []],
      [{ owner: { session: 's' } }, [root, waiting]],
      [{ owner: { session: 's', hook: 'h' } }, [root]],
      [{ createdFrom: createdAt }, [root, gone, waiting]],
      [{ createdTo: 5 }, [child]],
      [{ createdFrom: 6, createdTo: createdAt - 1 }, []],
      [{ parent: root, live: true, kind: 'external' }, [child]],
      [{ labels: {}, owner: {} }, [root, child, gone, waiting]],
    ];
    for (const [filter, expected] of cases)
      expect([filter, await listPids(kernel, filter)]).toEqual([filter, expected]);
  });

  it('refuses unknown keys, unknown values and invalid cursors', async () => {
    const { kernel, refused } = await kernelFixture();
    const bad = [
      { stauts: 'running' },
      { tree: 'p_1' },
      { status: 'dead' },
      { kind: 'other' },
      { waiting: 'x' },
      { limit: 0 },
      { limit: 10_001 },
      { limit: 1.5 },
      { after: 'x' },
      { after: '-1' },
      { after: 5 },
      { owner: { somebody: 'x' } },
      { labels: { a: 1 } },
      null,
      [],
    ];
    for (const filter of bad) {
      expect((await refused(() => kernel.processes.list(filter as never))).code).toBe('INVALID_INPUT');
    }
    const root = await kernel.processes.spawn({});
    expect((await refused(() => kernel.processes.children(root, { stauts: 1 } as never))).code).toBe('INVALID_INPUT');
  });

  it('pages without gap or repeat, also while processes are spawned and end', async () => {
    const { kernel } = await kernelFixture();
    const expected: Pid[] = [];
    for (let i = 0; i < 23; i++) expected.push(await kernel.processes.spawn({ name: i % 2 === 0 ? 'even' : 'odd' }));
    for (const limit of [1, 5, 23, 100]) {
      const seen: Pid[] = [];
      let after: string | undefined;
      do {
        const page = await kernel.processes.list({ limit, ...(after === undefined ? {} : { after }) });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        seen.push(...page.items.map(({ pid }) => pid));
        after = page.next;
        if (limit > 1) expected.push(await kernel.processes.spawn({}));
        await kernel.processes.kill(expected[0] ?? '');
      } while (after !== undefined);
      expect(seen).toEqual(expected.slice(0, seen.length));
      expect(seen.length).toBeGreaterThanOrEqual(expected.length - 1);
    }
  });

  it('reads no more than 10,000 rows per page, and then says that there may be more', async () => {
    const { kernel, path } = await kernelFixture({ durability: 'normal' });
    const first = await kernel.processes.spawn({ name: 'needle' });
    await using tables = new RawTables(path);
    const [row = {}] = await tables.rows('processes');
    const numbers = Array.from({ length: 10_500 }, (_, index) => index + 1);
    const nameOf = (number: number) => (number === 10_400 ? 'needle' : 'hay');
    await tables.insert('processes', ...numbers.map((i) => ({ ...row, n: i + 10, pid: `p_${i}`, name: nameOf(i) })));
    await tables.insert('accounts', ...numbers.map((i) => ({ n: i + 10 })));
    const page = await kernel.processes.list({ name: 'needle' });
    expect([page.items.map(({ pid }) => pid), page.next === undefined]).toEqual([[first], false]);
    const rest = await kernel.processes.list({ name: 'needle', after: page.next ?? '' });
    expect([rest.items.map(({ pid }) => pid), rest.next]).toEqual([['p_10400'], undefined]);
    const newest = await kernel.processes.list({ name: 'needle', order: 'newest' });
    expect(newest.items.map(({ pid }) => pid)).toEqual(['p_10400']);
    const last = await kernel.processes.list({ name: 'needle', order: 'newest', after: newest.next ?? '' });
    expect([last.items.map(({ pid }) => pid), last.next]).toEqual([[first], undefined]);
    const late = await kernel.processes.list({ name: 'needle', createdFrom: 0, after: '20' });
    expect(late.items.map(({ pid }) => pid)).toEqual(['p_10400']);
    expect((await kernel.processes.counts()).total).toBe(10_501);
    expect((await kernel.processes.counts({ name: 'needle' })).total).toBe(2);
  });

  it('shows the newest first if asked, by every index', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ labels: { team: 'a' } });
    const children: Pid[] = [];
    for (let i = 0; i < 7; i++)
      children.push(await kernel.processes.spawnChild(root, { labels: { team: 'a' }, owner: { session: 's' } }));
    const newest = [root, ...children].reverse();
    const filters: ProcessFilter[] = [
      {},
      { root },
      { labels: { team: 'a' } },
      { status: 'created' },
      { status: ['created', 'runnable'] },
      { kind: 'external' },
      { ids: newest },
    ];
    for (const filter of filters) {
      const expected = [...(await listPids(kernel, filter))].reverse();
      expect(expected.length).toBe(8);
      for (const limit of [1, 3, 8, 100]) {
        const seen: Pid[] = [];
        let after: string | undefined;
        do {
          const options = { ...filter, order: 'newest', limit, ...(after === undefined ? {} : { after }) } as const;
          const page: Page<ProcessRecord> = await kernel.processes.list(options);
          seen.push(...page.items.map(({ pid }) => pid));
          after = page.next;
        } while (after !== undefined);
        expect([filter, seen]).toEqual([filter, expected]);
      }
    }
    expect(await listPids(kernel, { parent: root, order: 'newest', limit: 2 })).toEqual(newest.slice(0, 2));
  });

  it('finds processes by the beginning of a name or of the value of a label, and by the end of a pid', async () => {
    const { kernel, refused } = await kernelFixture();
    const lead = await kernel.processes.spawn({ name: 'Lead 100%_"x"' });
    const other = await kernel.processes.spawnChild(lead, { labels: { team: 'Leaders', note: 'a\\"b' } });
    const none = await kernel.processes.spawn({ name: 'mislead', labels: { lead: 'no' } });
    const cases: [string, Pid[]][] = [
      ['lead', [lead, other]],
      ['LEAD 100%_"', [lead]],
      ['lead 100x', []],
      ['leaders', [other]],
      ['a\\"B', [other]],
      ['%', []],
      [other.slice(-6), [other]],
      [none.slice(-6).toUpperCase(), [none]],
      ['nothing', []],
    ];
    for (const [text, expected] of cases) {
      expect([text, await listPids(kernel, { text })]).toEqual([text, expected]);
      const inRoot = expected.filter((pid) => pid !== none);
      expect([text, await listPids(kernel, { text, root: lead })]).toEqual([text, inRoot]);
      expect((await kernel.processes.counts({ text })).total).toBe(expected.length);
    }
    for (const bad of [{ text: '' }, { text: 'x'.repeat(257) }, { text: 1 }, { order: 'desc' }])
      expect((await refused(() => kernel.processes.list(bad as never))).code).toBe('INVALID_INPUT');
  });
});

describe('counts', () => {
  it('tells how many there are by status and by kind, of all and of a selection', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ labels: { team: 'a' } });
    await kernel.processes.spawnChild(root, { image: 'worker', name: 'one' });
    const failed = await kernel.processes.spawnChild(root, { labels: { team: 'a' } });
    await kernel.processes.fail(failed, 'x');
    const all = await kernel.processes.counts();
    const { items } = await kernel.processes.list();
    expect(all.total).toBe(3);
    for (const [status, count] of Object.entries(all.status))
      expect([status, count]).toEqual([status, items.filter((item) => item.status === status).length]);
    for (const [kind, count] of Object.entries(all.kind))
      expect([kind, count]).toEqual([kind, items.filter((item) => item.kind === kind).length]);
    const filters: ProcessFilter[] = [
      { live: true },
      { live: false },
      { status: [] },
      { status: 'failed' },
      { labels: { team: 'a' } },
      { root },
      { root: failed },
      { image: 'worker' },
      { image: 'work' },
      { name: 'one' },
      { waiting: true },
      { kind: 'agent', live: true },
    ];
    for (const filter of filters) {
      const listed = await kernel.processes.list(filter);
      expect([filter, (await kernel.processes.counts(filter)).total]).toEqual([filter, listed.items.length]);
    }
    for (const bad of [{ limit: 1 }, { order: 'newest' }, { stauts: 'x' }])
      expect((await refused(() => kernel.processes.counts(bad as never))).code).toBe('INVALID_INPUT');
  });
});

describe('children, ancestors and tree', () => {
  it('show the family of a process', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const a = await kernel.processes.spawnChild(root, { name: 'a' });
    const b = await kernel.processes.spawnChild(root, { name: 'b' });
    const aa = await kernel.processes.spawnChild(a, {});
    const aaa = await kernel.processes.spawnChild(aa, {});
    await kernel.processes.exit(b);
    const names = (records: readonly { pid: Pid }[]) => records.map(({ pid }) => pid);
    expect(names(await kernel.processes.children(root))).toEqual([a, b]);
    expect(names(await kernel.processes.children(root, { live: true }))).toEqual([a]);
    expect(names(await kernel.processes.children(root, { name: 'b' }))).toEqual([b]);
    expect(names(await kernel.processes.children(aaa))).toEqual([]);
    expect(names(await kernel.processes.ancestors(aaa))).toEqual([aa, a, root]);
    expect(names(await kernel.processes.ancestors(root))).toEqual([]);
    expect(shapeOf(await kernel.processes.tree(root))).toEqual([
      root,
      [
        [a, [[aa, [[aaa, []]]]]],
        [b, []],
      ],
    ]);
    expect(shapeOf(await kernel.processes.tree(root, { depth: 1 }))).toEqual([
      root,
      [
        [a, []],
        [b, []],
      ],
    ]);
    expect(shapeOf(await kernel.processes.tree(root, { depth: 0 }))).toEqual([root, []]);
    expect(shapeOf(await kernel.processes.tree(a))).toEqual([a, [[aa, [[aaa, []]]]]]);
    expect(await kernel.processes.tree(b)).toEqual({ ...(await kernel.processes.get(b)), children: [] });
  });

  it('cut a tree at 10,000 processes, and tell where children are missing', async () => {
    const { kernel, path } = await kernelFixture({ durability: 'normal' });
    const root = await kernel.processes.spawn({});
    const [small, big] = [await kernel.processes.spawnChild(root, {}), await kernel.processes.spawnChild(root, {})];
    const below = await kernel.processes.spawnChild(small, {});
    await using tables = new RawTables(path);
    const row = (await tables.rows('processes')).find(({ pid }) => pid === below) ?? {};
    const numbers = Array.from({ length: 10_200 }, (_, index) => index + 1);
    const parentOf = (i: number) => (i === 1 ? below : i <= 20 ? small : big);
    await tables.insert(
      'processes',
      ...numbers.map((i) => ({ ...row, n: i + 10, pid: `p_${i}`, parent: parentOf(i) })),
    );
    await tables.insert('accounts', ...numbers.map((i) => ({ n: i + 10 })));
    const tree = await kernel.processes.tree(root);
    const all = (node: ProcessTree): ProcessTree[] => [node, ...node.children.flatMap(all)];
    expect(all(tree).length).toBe(10_000);
    expect(
      all(tree)
        .filter(({ more }) => more)
        .map(({ pid }) => pid),
    ).toEqual([below, big]);
    const part = await kernel.processes.tree(small);
    expect(all(part).map(({ pid, more }) => [pid, more])).toEqual(
      [small, below, 'p_1', ...numbers.slice(1, 20).map((i) => `p_${i}`)].map((pid) => [pid, undefined]),
    );
    expect(all(await kernel.processes.tree(root, { depth: 1 })).some(({ more }) => more)).toBe(false);
  });

  it('refuse a process that does not exist and invalid options', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    expect((await refused(() => kernel.processes.children('p_none'))).code).toBe('NO_SUCH_PROCESS');
    expect((await refused(() => kernel.processes.ancestors('p_none'))).code).toBe('NO_SUCH_PROCESS');
    expect((await refused(() => kernel.processes.tree('p_none'))).code).toBe('NO_SUCH_PROCESS');
    for (const options of [{ depth: -1 }, { depth: 0.5 }, { depth: '1' }, { deep: 1 }]) {
      expect((await refused(() => kernel.processes.tree(root, options as never))).code).toBe('INVALID_INPUT');
    }
  });

  it('give more children than a page holds', async () => {
    const { kernel } = await kernelFixture({ images: [worker] });
    const root = await kernel.processes.spawn({});
    const spawned = await Promise.all(Array.from({ length: 520 }, () => kernel.processes.spawnChild(root, {})));
    expect((await kernel.processes.children(root)).map(({ pid }) => pid)).toEqual(spawned);
    expect((await kernel.processes.list({ parent: root })).items.length).toBe(100);
    expect((await kernel.processes.children(root, { limit: 3 })).map(({ pid }) => pid)).toEqual(spawned.slice(0, 3));
  });
});

type Shape = [Pid, Shape[]];
function shapeOf({ pid, children }: ProcessTree): Shape {
  return [pid, children.map(shapeOf)];
}
