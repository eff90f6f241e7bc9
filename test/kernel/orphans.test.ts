import { describe, expect, it } from 'vitest';
import type { Kernel, Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { eventsAfter, kernelFixture, lastSeq } from '../support/kernel-fixture.js';

async function positionOf(kernel: Kernel, pid: Pid): Promise<Record<string, unknown>> {
  const { parent, bornUnder, root, depth, status } = await kernel.processes.get(pid);
  return { parent, bornUnder, root, depth, status };
}

describe('when a process ends, a child', () => {
  it('is cancelled by default, with its whole subtree, in the same commit', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const parent = await kernel.processes.spawnChild(root, {});
    const child = await kernel.processes.spawnChild(parent, {});
    const below = await kernel.processes.spawnChild(child, {});
    const seq = await lastSeq(kernel);
    await kernel.processes.exit(parent);
    const { items } = await kernel.events.list({ after: String(seq) });
    expect(items.map(({ type, pid, data }) => [type, pid, 'outcome' in data ? data.outcome : ''])).toEqual([
      ['process.exited', parent, 'completed'],
      ['process.exited', child, 'parent_exited'],
      ['process.exited', below, 'parent_exited'],
    ]);
    expect(new Set(items.map(({ at }) => at)).size).toBe(1);
    expect(await kernel.processes.get(child)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'parent_exited', by: parent },
    });
    await checkInvariants(kernel, path);
  });

  it('with reparent goes to the nearest live ancestor, and its subtree with it', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const parent = await kernel.processes.spawnChild(root, {});
    const child = await kernel.processes.spawnChild(parent, { onParentExit: 'reparent' });
    const below = await kernel.processes.spawnChild(child, {});
    const seq = await lastSeq(kernel);
    await kernel.processes.exit(parent);
    expect(await positionOf(kernel, child)).toEqual({
      parent: root,
      bornUnder: parent,
      root,
      depth: 2,
      status: 'created',
    });
    expect(await positionOf(kernel, below)).toEqual({
      parent: child,
      bornUnder: child,
      root,
      depth: 3,
      status: 'created',
    });
    expect(await eventsAfter(kernel, seq)).toEqual([
      ['process.exited', parent],
      ['process.reparented', child],
    ]);
    await kernel.processes.complete(child, 'mine now');
    expect(await kernel.processes.wait(root, child)).toMatchObject({ value: 'mine now' });
    await checkInvariants(kernel, path);
  });

  it('with reparent and nobody above becomes a root', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, { onParentExit: 'reparent' });
    const below = await kernel.processes.spawnChild(child, {});
    await kernel.processes.exit(root);
    expect(await positionOf(kernel, child)).toMatchObject({ parent: null, bornUnder: root, root: child, depth: 1 });
    expect(await positionOf(kernel, below)).toMatchObject({ parent: child, root: child, depth: 2 });
    await checkInvariants(kernel, path);
  });

  it('with reparent skips ancestors that end in the same commit', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const a = await kernel.processes.spawnChild(root, { name: 'gone' });
    const b = await kernel.processes.spawnChild(a, { name: 'gone', onParentExit: 'reparent' });
    const c = await kernel.processes.spawnChild(b, { onParentExit: 'reparent' });
    await kernel.processes.signal({ name: 'gone' }, 'kill', { tree: false });
    expect(await positionOf(kernel, c)).toMatchObject({ parent: root, root });
    await checkInvariants(kernel, path);
  });

  it('with detach becomes the root of its subtree', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const parent = await kernel.processes.spawnChild(root, {});
    const child = await kernel.processes.spawnChild(parent, { onParentExit: 'detach' });
    const below = await kernel.processes.spawnChild(child, {});
    await kernel.processes.exit(parent);
    expect(await positionOf(kernel, child)).toMatchObject({ parent: null, bornUnder: parent, root: child });
    expect(await positionOf(kernel, below)).toMatchObject({ parent: child, root: child });
    const later = await kernel.processes.spawnChild(below, {});
    expect(await positionOf(kernel, later)).toMatchObject({ root: child, depth: 4 });
    expect((await kernel.processes.list({ root: child })).items.length).toBe(3);
    await kernel.processes.kill(root);
    expect(await positionOf(kernel, child)).toMatchObject({ status: 'created' });
    await checkInvariants(kernel, path);
  });

  it('keeps its place in a chain of detached and reparented ones that lose their parents at once', async () => {
    const { kernel, path } = await kernelFixture();
    const a = await kernel.processes.spawn({ name: 'gone' });
    const x = await kernel.processes.spawnChild(a, { onParentExit: 'detach' });
    const b = await kernel.processes.spawnChild(x, { name: 'gone' });
    const y = await kernel.processes.spawnChild(b, { onParentExit: 'reparent' });
    const z = await kernel.processes.spawnChild(y, {});
    await kernel.processes.signal({ name: 'gone' }, 'kill', { tree: false });
    expect(await positionOf(kernel, x)).toMatchObject({ parent: null, root: x });
    expect(await positionOf(kernel, y)).toMatchObject({ parent: x, root: x });
    expect(await positionOf(kernel, z)).toMatchObject({ parent: y, root: x });
    await checkInvariants(kernel, path);
  });

  it('is cancelled with the subtree of a cancelled parent, whatever it would do when that parent merely ended', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, { onParentExit: 'detach' });
    await kernel.processes.cancel(root);
    expect((await kernel.processes.get(child)).outcome?.kind).toBe('cancelled');
  });

  it('that has ended already is left as it is', async () => {
    const { kernel, row } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, { onParentExit: 'detach' });
    await kernel.processes.exit(child);
    const before = await row(child);
    await kernel.processes.exit(root);
    expect(await row(child)).toEqual(before);
  });
});

describe('moving', () => {
  it('changes the parent, not the budget: charges still go to the accounts that it was spawned under', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { tokens: 10, children: 3, depth: 3 } });
    const parent = await kernel.processes.spawnChild(root, { budget: { tokens: 6 } });
    const child = await kernel.processes.spawnChild(parent, { onParentExit: 'detach' });
    await kernel.processes.exit(parent);
    await kernel.processes.charge(child, { tokens: 6 });
    expect(await refused(() => kernel.processes.charge(child, { tokens: 1 }))).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'tokens', process: parent, limit: 6, used: 6, asked: 1 },
    });
    expect((await kernel.processes.budget(root)).tokens.used).toBe(6);
    expect((await kernel.processes.budget(root)).children.used).toBe(1);
    const below = await kernel.processes.spawnChild(child, {});
    expect(await refused(() => kernel.processes.spawnChild(below, {}))).toMatchObject({
      facts: { dimension: 'depth', process: root },
    });
    await checkInvariants(kernel, path);
  });

  it('leaves a child only the capabilities that did not come from the one that ended', async () => {
    const { kernel } = await kernelFixture();
    const tool = { resource: 'tool:x', rights: ['call' as const] };
    const root = await kernel.processes.spawn({ capabilities: [{ ...tool, delegable: true }] });
    const child = await kernel.processes.spawnChild(root, { onParentExit: 'detach', delegate: [tool] });
    await kernel.capabilities.grant(child, { resource: 'tool:y', rights: ['call'] });
    await kernel.processes.exit(root);
    expect((await kernel.capabilities.check(child, 'call', 'tool:x')).effect).toBe('deny');
    expect((await kernel.capabilities.check(child, 'call', 'tool:y')).effect).toBe('allow');
  });
});
