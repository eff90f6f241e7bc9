import { describe, expect, it, vi } from 'vitest';
import { canonicalJson, type JsonObject, sha256Hex } from '../../src/base/json.js';
import { CapabilityRepository } from '../../src/capability/holding/capability-repository.js';
import { externalImage } from '../../src/index.js';
import { ProcessRepository } from '../../src/kernel/process/process-repository.js';
import { childSpec } from '../../src/kernel/specs.js';
import { ObjectRepository } from '../../src/memory/object/object-repository.js';
import { ViewRepository } from '../../src/memory/view/view-repository.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { openRawTables } from '../support/storage/raw-tables.js';

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
  it('gives it a pid like any other, and the same again for the same spec', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.as(root).spawnChild({ id: 'step-1', goal: 'x' });
    expect(child).toMatch(/^p_[0-9a-z]{20}$/);
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

  it('grows no pid with the depth, and knows ids apart by their parent', async () => {
    const { kernel, path } = await kernelFixture();
    const pids = [await kernel.processes.spawn({})];
    for (let depth = 0; depth < 20; depth++) {
      pids.push(await kernel.processes.spawnChild(pids.at(-1) ?? '', { id: 'x'.repeat(64) }));
    }
    expect(new Set(pids).size).toBe(21);
    expect(new Set(pids.map(({ length }) => length)).size).toBe(1);
    await checkInvariants(kernel, path);
  });

  it('refuses an id with a dot, in every call that takes one', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ id: 'a.b' });
    for (const id of [
      'a.b',
      'a.',
      'a..b',
      '1.2.3',
      `${'x'.repeat(62)}.y`,
      '.a',
      '-a',
      '_a',
      'a b',
      'a'.repeat(65),
      '',
    ]) {
      const calls = [
        () => kernel.processes.spawnChild(root, { id }),
        () => kernel.processes.fork(root, { id }),
        () => kernel.as(root).spawnChild({ id }),
        () => kernel.as(root).fork({ id }),
      ];
      for (const call of calls) expect([id, (await refused(call)).code]).toEqual([id, 'INVALID_INPUT']);
    }
    for (const id of ['a', '0', 'a-b_C', 'x'.repeat(64)]) await kernel.as(root).spawnChild({ id });
  });

  it('answers for an id with a dot that an older version registered', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, { id: 'old', goal: 'x' });
    const spec = childSpec.parse({ id: 'older.one', goal: 'x' }) as object as JsonObject;
    const hash = sha256Hex(canonicalJson({ parent: root, spec }));
    using tables = openRawTables(path);
    tables.insert('registrations', { parent: root, id: 'older.one', pid: child, hash });
    expect(await kernel.processes.spawnChild(root, { id: 'older.one', goal: 'x' })).toBe(child);
    expect(await kernel.processes.find(root, 'older.one')).toBe(child);
    expect((await refused(() => kernel.processes.spawnChild(root, { id: 'older.one' }))).code).toBe('CONFLICT');
    expect((await refused(() => kernel.processes.spawnChild(root, { id: 'newer.one' }))).code).toBe('INVALID_INPUT');
  });
});

describe('processes.find', () => {
  it('finds what was spawned with an id, under its parent or as a root, also after its end', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ id: 'job.1' });
    const child = await kernel.processes.spawnChild(root, { id: 'one' });
    const forked = await kernel.processes.fork(root, { id: 'two' });
    await kernel.processes.exit(child);
    expect(await kernel.processes.find(null, 'job.1')).toBe(root);
    expect(await kernel.processes.find(root, 'one')).toBe(child);
    expect(await kernel.processes.find(root, 'two')).toBe(forked);
  });

  it('finds nothing elsewhere, and refuses what cannot be', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ id: 'job' });
    const child = await kernel.processes.spawnChild(root, { id: 'one' });
    expect(await kernel.processes.find(null, 'one')).toBeUndefined();
    expect(await kernel.processes.find(root, 'job')).toBeUndefined();
    expect(await kernel.processes.find(child, 'one')).toBeUndefined();
    expect((await refused(() => kernel.processes.find('p_none', 'one'))).code).toBe('NO_SUCH_PROCESS');
    for (const id of ['', 'a b', 5, null, undefined]) {
      expect((await refused(() => kernel.processes.find(root, id as never))).code).toBe('INVALID_INPUT');
    }
    expect((await refused(() => kernel.processes.find(undefined as never, 'one'))).code).toBe('INVALID_INPUT');
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

  it('is one whose grant of the required authority has expired already', async () => {
    const { kernel, refused } = await kernelFixture();
    const mail = { resource: 'tool:mail', rights: ['call' as const] };
    kernel.images.register(externalImage({ name: 'mailer', requires: [mail] }));
    const spawn = () => kernel.processes.spawn({ image: 'mailer', capabilities: [{ ...mail, expiresAt: 1 }] });
    expect(await refused(spawn)).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'spec.capabilities.0.expiresAt' },
    });
  });
});
