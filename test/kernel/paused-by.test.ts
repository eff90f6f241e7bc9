import { describe, expect, it } from 'vitest';
import type { Kernel, Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture, lastSeq } from '../support/kernel-fixture.js';

/** root ─ a ─ b. */
async function spawnLine(kernel: Kernel): Promise<Record<'root' | 'a' | 'b', Pid>> {
  const root = await kernel.processes.spawn({});
  const a = await kernel.processes.spawnChild(root, {});
  return { root, a, b: await kernel.processes.spawnChild(a, {}) };
}

const pausedByOf = async (kernel: Kernel, pid: Pid) => (await kernel.processes.get(pid)).pausedBy;

describe('whoever paused a process', () => {
  it('is in its record while it is paused', async () => {
    const { kernel, path } = await kernelFixture();
    const { root, a, b } = await spawnLine(kernel);
    expect(await pausedByOf(kernel, a)).toBeUndefined();
    await kernel.as(root).pause(a);
    expect([await pausedByOf(kernel, a), await pausedByOf(kernel, b)]).toEqual([root, root]);
    await kernel.as(root).resume(a);
    await kernel.processes.pause(b);
    expect([await pausedByOf(kernel, a), await pausedByOf(kernel, b)]).toEqual([undefined, 'host']);
    await checkInvariants(kernel, path);
  });

  it('of a held process is whoever spawned it', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const byHost = await kernel.processes.spawnChild(root, { held: true });
    const forkedByHost = await kernel.processes.fork(root, { held: true });
    const byParent = await kernel.as(root).spawnChild({ held: true });
    const forkedByParent = await kernel.as(root).fork({ held: true });
    for (const pid of [await kernel.processes.spawn({ held: true }), byHost, forkedByHost]) {
      expect(await pausedByOf(kernel, pid)).toBe('host');
    }
    for (const pid of [byParent, forkedByParent]) expect(await pausedByOf(kernel, pid)).toBe(root);
    await expect(kernel.as(root).resume(byHost)).rejects.toMatchObject({ code: 'CAPABILITY_DENIED' });
    expect((await kernel.as(root).resume(byParent)).delivered).toEqual([byParent]);
    expect((await kernel.processes.get(byParent)).status).toBe('created');
  });

  it('is forgotten when it is stopped and when it ends', async () => {
    const { kernel, edit, row } = await kernelFixture();
    const { a, b } = await spawnLine(kernel);
    await edit(b, { status: 'running', node: 'n_other' });
    await kernel.processes.pause(a);
    await kernel.processes.cancel(a);
    expect(await row(a)).toMatchObject({ status: 'killed', paused_by: null });
    expect(await row(b)).toMatchObject({ status: 'stopping', paused_by: null });
  });

  it('is kept over exec', async () => {
    const { kernel } = await kernelFixture();
    const { root, a } = await spawnLine(kernel);
    await kernel.as(root).pause(a);
    await kernel.processes.exec(a, { image: 'worker' });
    expect(await kernel.processes.get(a)).toMatchObject({ status: 'paused', pausedBy: root });
    await kernel.processes.pause(a);
    await kernel.processes.exec(a, { image: 'base' });
    expect(await kernel.processes.get(a)).toMatchObject({ status: 'paused', pausedBy: 'host' });
  });
});

describe('a pause', () => {
  it('by the host takes over what a process paused', async () => {
    const { kernel, path } = await kernelFixture();
    const { root, a, b } = await spawnLine(kernel);
    await kernel.as(root).pause(a);
    expect(await kernel.processes.pause(a)).toMatchObject({ delivered: [a, b], unchanged: [], refused: [] });
    expect([await pausedByOf(kernel, a), await pausedByOf(kernel, b)]).toEqual(['host', 'host']);
    await kernel.processes.resume(a);
    expect((await kernel.processes.get(a)).status).toBe('created');
    await checkInvariants(kernel, path);
  });

  it('by a process of what is paused already changes nothing, whoever paused it', async () => {
    const { kernel, row } = await kernelFixture();
    const { root, a, b } = await spawnLine(kernel);
    for (const pause of [() => kernel.processes.pause(b), () => kernel.as(a).pause(b)]) {
      await pause();
      const [before, seq] = [await row(b), await lastSeq(kernel)];
      expect(await kernel.as(a).pause(b)).toMatchObject({ delivered: [], unchanged: [b], refused: [] });
      expect([await row(b), await lastSeq(kernel)]).toEqual([before, seq]);
      await kernel.processes.resume(b);
    }
    expect(await kernel.as(root).pause(a)).toMatchObject({ delivered: [a, b] });
  });
});

describe('a resume by a process', () => {
  it('of one that the host paused is refused, and changes nothing', async () => {
    const { kernel, refused } = await kernelFixture();
    const { root, a } = await spawnLine(kernel);
    await kernel.as(root).pause(a);
    await kernel.processes.pause(a);
    expect(await refused(() => kernel.as(root).resume(a))).toEqual({
      code: 'CAPABILITY_DENIED',
      facts: { pid: a, pausedBy: 'host' },
    });
    expect(await pausedByOf(kernel, a)).toBe('host');
    expect((await kernel.processes.resume(a)).delivered).toContain(a);
  });

  it('of a tree resumes the rest, and reports those that the host paused', async () => {
    const { kernel, path } = await kernelFixture();
    const { root, a, b } = await spawnLine(kernel);
    const c = await kernel.processes.spawnChild(a, {});
    await kernel.processes.pause(b);
    await kernel.as(root).pause(a);
    expect(await kernel.as(root).resume(a)).toMatchObject({
      matched: 3,
      delivered: [a, c],
      unchanged: [],
      refused: [{ pid: b, code: 'CAPABILITY_DENIED', facts: { pausedBy: 'host' } }],
    });
    expect((await kernel.processes.get(b)).status).toBe('paused');
    expect(await kernel.processes.resume(a)).toMatchObject({ delivered: [b], unchanged: [a, c], refused: [] });
    await checkInvariants(kernel, path);
  });

  it('is refused for a row of an older store that does not say who paused it', async () => {
    const { kernel, edit } = await kernelFixture();
    const { root, a } = await spawnLine(kernel);
    await edit(a, { status: 'paused', previous: 'created' });
    await expect(kernel.as(root).resume(a)).rejects.toMatchObject({ code: 'CAPABILITY_DENIED' });
    expect((await kernel.processes.resume(a)).delivered).toContain(a);
  });

  it('with a capability on the process gives no more than its parent has', async () => {
    const { kernel } = await kernelFixture();
    const { a } = await spawnLine(kernel);
    const capabilities = [{ resource: `process:${a}`, rights: ['signal' as const] }];
    const other = await kernel.processes.spawn({ capabilities });
    await kernel.processes.pause(a);
    await expect(kernel.as(other).resume(a)).rejects.toMatchObject({ code: 'CAPABILITY_DENIED' });
    await kernel.processes.resume(a);
    await kernel.as(other).pause(a);
    expect(await pausedByOf(kernel, a)).toBe(other);
    expect((await kernel.as(other).resume(a)).delivered).toContain(a);
  });
});
