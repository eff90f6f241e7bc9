import { describe, expect, it } from 'vitest';
import type { KernelEvent } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { rawSql } from '../support/storage/raw-sql.js';

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

  it('refuses invalid options', async () => {
    const { kernel, refused } = await kernelFixture();
    const bad = [{ limit: 0 }, { limit: 10_001 }, { after: 'x' }, { after: 1 }, { types: ['x'] }, { more: 1 }, null];
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
