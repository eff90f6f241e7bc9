import { describe, expect, it, vi } from 'vitest';
import { CapabilityRepository } from '../../src/capability/holding/capability-repository.js';
import { externalImage } from '../../src/index.js';
import { ProcessRepository } from '../../src/kernel/process/process-repository.js';
import { ObjectRepository } from '../../src/memory/object/object-repository.js';
import { ViewRepository } from '../../src/memory/view/view-repository.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';

const search = { resource: 'tool:search', rights: ['call' as const] };

describe('spawnChild', () => {
  it('creates a child below its parent', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, { goal: 'part', name: 'part' });
    const grandchild = await kernel.processes.spawnChild(child, {});
    expect(await kernel.processes.get(child)).toMatchObject({ parent: root, bornUnder: root, root, depth: 1 });
    expect(await kernel.processes.get(grandchild)).toMatchObject({ parent: child, bornUnder: child, root, depth: 2 });
    expect((await kernel.processes.children(root)).map(({ pid }) => pid)).toEqual([child]);
    await checkInvariants(kernel, path);
  });

  it('hands a child exactly what its parent may hand on, and nothing else', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({
      capabilities: [
        { ...search, delegable: true },
        { resource: 'tool:mail', rights: ['call'] },
      ],
    });
    const child = await kernel.processes.spawnChild(root, { delegate: [search] });
    const held = (await kernel.capabilities.list(child)).map(({ resource }) => resource);
    expect(held).toEqual([`ns:process/${child}/**`, 'tool:search']);
    expect((await kernel.capabilities.check(child, 'call', 'tool:mail')).effect).toBe('deny');
  });

  it('refuses to hand on what the parent only holds for itself, naming the field', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ capabilities: [search] });
    expect(await refused(() => kernel.processes.spawnChild(root, { delegate: [search] }))).toMatchObject({
      code: 'AMPLIFICATION',
    });
    expect(await kernel.processes.children(root)).toEqual([]);
  });

  it('refuses to hand on what the parent does not hold', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ capabilities: [{ ...search, delegable: true }] });
    const wider = { resource: 'tool:**', rights: ['call' as const] };
    expect((await refused(() => kernel.processes.spawnChild(root, { delegate: [wider] }))).code).toBe('AMPLIFICATION');
  });

  it('refuses an unknown parent, an ended one and one that is being stopped', async () => {
    const { kernel, refused, edit } = await kernelFixture();
    expect((await refused(() => kernel.processes.spawnChild('p_none', {}))).code).toBe('NO_SUCH_PROCESS');
    const ended = await kernel.processes.spawn({});
    await kernel.processes.exit(ended);
    expect((await refused(() => kernel.processes.spawnChild(ended, {}))).code).toBe('PROCESS_TERMINATED');
    const stopping = await kernel.processes.spawn({});
    edit(stopping, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(stopping);
    expect((await refused(() => kernel.processes.spawnChild(stopping, {}))).code).toBe('TREE_STOPPING');
  });

  it('refuses root grants for a child', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const odd = { capabilities: [search] } as never;
    expect((await refused(() => kernel.processes.spawnChild(root, odd))).code).toBe('INVALID_INPUT');
  });

  it('takes a goal that the parent may hand on, for reading', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const first = await kernel.processes.spawnChild(root, {});
    await kernel.processes.complete(first, { found: 7 });
    const { result } = await kernel.processes.wait(root, first);
    if (result === undefined) throw new Error('no result');
    const second = await kernel.processes.spawnChild(root, { goal: result });
    expect((await kernel.processes.get(second)).goal).toBe(result.id);
    expect(await kernel.memory.read(second, result)).toMatchObject({ payload: { found: 7 } });
  });

  it('refuses a goal that the parent cannot read, without saying whether it exists', async () => {
    const { kernel, refused } = await kernelFixture();
    const stranger = await kernel.processes.spawn({});
    await kernel.processes.complete(stranger, 'secret');
    const { result } = await kernel.processes.result(stranger);
    if (result === undefined) throw new Error('no result');
    const root = await kernel.processes.spawn({});
    expect((await refused(() => kernel.processes.spawnChild(root, { goal: result }))).code).toBe('NO_SUCH_OBJECT');
  });

  it('takes JSON that looks like a handle for data', async () => {
    const { kernel } = await kernelFixture();
    const stranger = await kernel.processes.spawn({});
    await kernel.processes.complete(stranger, 'secret');
    const { result } = await kernel.processes.result(stranger);
    const root = await kernel.processes.spawn({});
    const forged = JSON.parse(JSON.stringify(result));
    const child = await kernel.processes.spawnChild(root, { goal: forged });
    const { goal } = await kernel.processes.get(child);
    expect(goal).not.toBe(forged.object);
    expect(await kernel.memory.read(child, goal)).toMatchObject({ payload: forged });
  });
});

describe('spawnChild with an id', () => {
  it('names the child PARENT.id, and gives it again for the same spec', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.as(root).spawnChild({ id: 'step-1', goal: 'x' });
    expect(child).toBe(`${root}.step-1`);
    expect(await kernel.as(root).spawnChild({ id: 'step-1', goal: 'x' })).toBe(child);
    await kernel.processes.exit(child);
    expect(await kernel.as(root).spawnChild({ id: 'step-1', goal: 'x' })).toBe(child);
    expect((await kernel.processes.children(root)).length).toBe(1);
  });

  it('refuses another spec for the same id, and a delegation more is another spec', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ capabilities: [{ ...search, delegable: true }] });
    const pid = await kernel.processes.spawnChild(root, { id: 'a' });
    expect(await refused(() => kernel.processes.spawnChild(root, { id: 'a', goal: 'b' }))).toEqual({
      code: 'CONFLICT',
      facts: { id: 'a', pid },
    });
    expect((await refused(() => kernel.processes.spawnChild(root, { id: 'a', delegate: [search] }))).code).toBe(
      'CONFLICT',
    );
  });

  it('refuses a pid that would be too long', async () => {
    const { kernel, refused } = await kernelFixture();
    let at = await kernel.processes.spawn({});
    while (at.length + 65 <= 512) at = await kernel.processes.spawnChild(at, { id: 'x'.repeat(64) });
    expect(await refused(() => kernel.processes.spawnChild(at, { id: 'y'.repeat(64) }))).toMatchObject({
      code: 'INVALID_INPUT',
    });
    expect(await kernel.processes.spawnChild(at, {})).toMatch(/^p_/);
  });

  it('refuses a name that another line of descent has taken', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const a = await kernel.processes.spawnChild(root, { id: 'a' });
    await kernel.processes.spawnChild(a, { id: 'b' });
    expect((await refused(() => kernel.processes.spawnChild(root, { id: 'a.b' }))).code).toBe('CONFLICT');
  });
});

describe('a spawn that is refused', () => {
  it('writes no row before everything that can refuse was asked', async () => {
    const { kernel } = await kernelFixture();
    const requires = [{ resource: 'tool:mail', rights: ['call' as const] }];
    kernel.images.register(externalImage({ name: 'mailer', requires }));
    const parent = await kernel.processes.spawn({ capabilities: [{ ...search, delegable: true }] });
    const inserts = [ProcessRepository, ObjectRepository, ViewRepository, CapabilityRepository].map((repository) =>
      vi.spyOn(kernel.container.get<{ insert(...args: unknown[]): unknown }>(repository), 'insert'),
    );
    const lacking = kernel.processes.spawnChild(parent, { image: 'mailer', delegate: [search] });
    await expect(lacking).rejects.toMatchObject({ code: 'CAPABILITY_DENIED' });
    const wider = kernel.processes.spawnChild(parent, { delegate: [{ resource: 'tool:mail', rights: ['call'] }] });
    await expect(wider).rejects.toMatchObject({ code: 'AMPLIFICATION' });
    await expect(kernel.processes.spawn({ image: 'mailer' })).rejects.toMatchObject({ code: 'CAPABILITY_DENIED' });
    expect(inserts.flatMap(({ mock }) => mock.calls)).toEqual([]);
  });

  it('is one whose grant of the required authority has expired', async () => {
    const { kernel, refused } = await kernelFixture();
    const mail = { resource: 'tool:mail', rights: ['call' as const] };
    kernel.images.register(externalImage({ name: 'mailer', requires: [mail] }));
    const spawn = () => kernel.processes.spawn({ image: 'mailer', capabilities: [{ ...mail, expiresAt: 1 }] });
    expect((await refused(spawn)).code).toBe('CAPABILITY_DENIED');
  });
});
