import { describe, expect, it } from 'vitest';
import type { EventListOptions, Kernel, KernelEvent, Page } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { rawSql } from '../support/storage/raw-sql.js';
import { RawTables } from '../support/storage/raw-tables.js';

async function pagedSeqs(kernel: Kernel, options: EventListOptions): Promise<number[]> {
  const seqs: number[] = [];
  let after: string | undefined;
  do {
    const page: Page<KernelEvent> = await kernel.events.list({ ...options, ...(after === undefined ? {} : { after }) });
    seqs.push(...page.items.map(({ seq }) => seq));
    after = page.next;
  } while (after !== undefined);
  return seqs;
}

describe('list', () => {
  it('pages without gap or repeat', async () => {
    const { kernel } = await kernelFixture();
    for (let i = 0; i < 17; i++) await kernel.processes.spawn({});
    for (const limit of [1, 4, 18, 100]) {
      const listed: KernelEvent[] = [];
      let after: string | undefined;
      do {
        const page = await kernel.events.list({ limit, ...(after === undefined ? {} : { after }) });
        listed.push(...page.items);
        after = page.next;
      } while (after !== undefined);
      expect(listed.map(({ seq }) => seq)).toEqual(Array.from({ length: 18 }, (_, index) => index + 1));
    }
  });

  it('filters by type, process and tree, each page full', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, {});
    const other = await kernel.processes.spawn({});
    for (const pid of [child, other, root]) await kernel.processes.exit(pid);
    const pids = async (options: Parameters<typeof kernel.events.list>[0]) =>
      (await kernel.events.list(options)).items.map(({ pid }) => pid);
    expect(await pids({ types: ['process.exited'] })).toEqual([child, other, root]);
    expect(await pids({ types: ['process.exited'], limit: 2 })).toEqual([child, other]);
    expect(await pids({ pid: child })).toEqual([child, child]);
    expect(await pids({ tree: root, types: ['process.exited'] })).toEqual([child, root]);
    expect(await pids({ tree: 'p_none' })).toEqual([]);
    expect(await pids({ types: [] })).toEqual([]);
  });

  it('goes from the newest to the oldest if asked, and ends below a number', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, {});
    for (let i = 0; i < 9; i++) await kernel.processes.spawn({});
    const head = await kernel.events.head();
    const all = (await kernel.events.list()).items;
    expect(all.at(-1)?.seq).toBe(head);
    for (const filter of [{}, { pid: child }, { tree: root }, { types: ['process.spawned' as const] }]) {
      const expected = (await kernel.events.list(filter)).items.map(({ seq }) => seq).reverse();
      for (const limit of [1, 3, 100])
        expect(await pagedSeqs(kernel, { ...filter, order: 'desc', limit })).toEqual(expected);
      const below = expected.filter((seq) => seq < 4);
      expect(await pagedSeqs(kernel, { ...filter, order: 'desc', before: 4 })).toEqual(below);
      expect(await pagedSeqs(kernel, { ...filter, before: '4' })).toEqual(below.reverse());
    }
  });

  it('has no empty page before its end, however far the next event is', async () => {
    const { kernel, path } = await kernelFixture({ durability: 'normal' });
    const first = await kernel.processes.spawn({});
    await using tables = new RawTables(path);
    const [row = {}] = (await tables.rows('events')).slice(-1);
    const head = await kernel.events.head();
    const copies = Array.from({ length: 21_000 }, (_, i) => ({ ...row, seq: head + 1 + i, type: 'step.started' }));
    copies[20_500] = { ...row, seq: head + 20_501, type: 'step.failed' };
    await tables.insert('events', ...copies);
    const { items, next } = await kernel.events.list({ types: ['step.failed', 'process.spawned'] });
    expect([items.map(({ pid, seq }) => [pid, seq]), next === undefined]).toEqual([[[first, head]], false]);
    const rest = await kernel.events.list({ types: ['step.failed'], after: next ?? '' });
    expect(rest.items.map(({ seq }) => seq)).toEqual([head + 20_501]);
    const newest = await kernel.events.list({ types: ['process.spawned'], order: 'desc' });
    expect(newest.items.map(({ seq }) => seq)).toEqual([head]);
  });

  it('keeps what a process did in its tree when it is given to another parent', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const parent = await kernel.processes.spawnChild(root, {});
    const child = await kernel.processes.spawnChild(parent, { onParentExit: 'detach' });
    await kernel.processes.exit(parent);
    await kernel.processes.exit(root);
    await kernel.processes.signal(child, 'user.x');
    const grandchild = await kernel.processes.spawnChild(child, {});
    const about = async (tree: string) =>
      new Set((await kernel.events.list({ tree, limit: 1_000 })).items.map(({ pid }) => pid));
    expect(await about(root)).toEqual(new Set([root, parent, child, grandchild]));
    expect(await about(parent)).toEqual(new Set([parent, child, grandchild]));
    expect(await about(child)).toEqual(new Set([child, grandchild]));
  });

  it('refuses invalid options', async () => {
    const { kernel, refused } = await kernelFixture();
    const bad = [
      { limit: 0 },
      { limit: 10_001 },
      { after: 'x' },
      { after: 1 },
      { types: ['x'] },
      { more: 1 },
      null,
      { order: 'up' },
      { before: -1 },
      { before: 'x' },
    ];
    for (const options of bad) {
      expect((await refused(() => kernel.events.list(options as never))).code).toBe('INVALID_INPUT');
    }
  });
});

describe('the log', () => {
  it('has no gap after refused units, alone and in a group', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { children: 5, tokens: 3 } });
    for (let round = 0; round < 3; round++) {
      await Promise.allSettled([
        ...Array.from({ length: 6 }, () => kernel.processes.spawnChild(root, {})),
        kernel.processes.charge(root, { tokens: 1 }),
        kernel.processes.charge(root, { tokens: 9 }),
        kernel.processes.exit('p_none'),
        kernel.processes.spawn({}),
      ]);
    }
    const { items } = await kernel.events.list({ limit: 1_000 });
    expect(items.map(({ seq }) => seq)).toEqual(items.map((_, index) => index + 1));
    await checkInvariants(kernel, path);
  });

  it('carries no text that people wrote', async () => {
    const { kernel, path } = await kernelFixture();
    const secret = 'very-secret-text';
    const pid = await kernel.processes.spawn({ image: 'worker', goal: secret, name: secret, labels: { k: secret } });
    await kernel.processes.pause(pid, secret);
    await kernel.processes.signal(pid, 'user.x', { payload: secret, reason: secret });
    await kernel.processes.exit(pid, { result: secret, message: secret });
    const external = await kernel.processes.spawn({});
    await kernel.processes.progress(external, { done: 1, text: secret });
    await kernel.processes.cancel(external, secret);
    const { items } = await kernel.events.list();
    expect(JSON.stringify(items)).not.toContain(secret);
    expect(JSON.stringify(await rawSql(path, 'SELECT body, header FROM audit_records'))).not.toContain(secret);
  });

  it('has an event and a record of every change of state, in the transaction of the change', async () => {
    const { kernel, path, edit } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { tokens: 10 } });
    const a = await kernel.processes.spawnChild(root, { image: 'worker' });
    const b = await kernel.processes.fork(a, { onParentExit: 'reparent' });
    const external = await kernel.processes.spawnChild(root, {});
    await kernel.processes.pause(a);
    await kernel.processes.resume(a);
    await kernel.processes.exec(a, { image: 'worker' });
    await kernel.processes.chdir(a, '.');
    await kernel.processes.charge(a, { tokens: 1 });
    await kernel.processes.settle(await kernel.processes.reserve(a, { tokens: 2 }), { tokens: 1 });
    await kernel.processes.setBudget(a, { tokens: 5 });
    await kernel.processes.signal(a, 'user.x');
    await kernel.capabilities.grant(a, { resource: 'tool:x', rights: ['call'] });
    await kernel.processes.progress(external, { done: 1 });
    await kernel.processes.complete(external, 1);
    await kernel.processes.wait(root, external);
    await kernel.processes.exit(a);
    await edit(b, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(b);
    await kernel.processes.kill(b);
    const { items } = await kernel.events.list({ limit: 100 });
    expect(items.map(({ type }) => type)).toEqual([
      'node.started',
      'process.spawned',
      'process.spawned',
      'process.forked',
      'process.spawned',
      'process.paused',
      'process.paused',
      'process.resumed',
      'process.resumed',
      'process.execed',
      'process.moved',
      'budget.charged',
      'budget.reserved',
      'budget.settled',
      'budget.limited',
      'process.signalled',
      'capability.granted',
      'process.started',
      'process.progressed',
      'process.exited',
      'process.waited',
      'view.changed',
      'process.exited',
      'process.reparented',
      'process.stopping',
      'process.exited',
    ]);
    await checkInvariants(kernel, path, { edited: true });
  });
});
