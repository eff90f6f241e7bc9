import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { canonicalJson, type JsonObject, sha256Hex } from '../../src/base/json.js';
import { CapabilityRepository } from '../../src/capability/holding/capability-repository.js';
import { commandImage, defineImage, defineSupervisor, externalImage } from '../../src/index.js';
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
    await edit(stopping, { status: 'running', node: 'n_other' });
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
      facts: { id: 'a', pid, members: ['goal'] },
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
    await using tables = openRawTables(path);
    await tables.insert('registrations', { parent: root, id: 'older.one', pid: child, hash });
    expect(await kernel.processes.spawnChild(root, { id: 'older.one', goal: 'x' })).toBe(child);
    expect(await kernel.processes.find(root, 'older.one')).toBe(child);
    expect((await refused(() => kernel.processes.spawnChild(root, { id: 'older.one' }))).code).toBe('CONFLICT');
    expect((await refused(() => kernel.processes.spawnChild(root, { id: 'newer.one' }))).code).toBe('INVALID_INPUT');
  });
});

describe('the image of a child', () => {
  const greeter = defineImage({ name: 'greeter', input: z.strictObject({ who: z.string() }), run: async () => null });
  const team = defineSupervisor({
    name: 'team',
    strategy: 'one_for_one',
    intensity: 1,
    periodMs: 1_000,
    children: [{ name: 'one', image: 'base', restart: 'permanent' }],
  });

  it('is the parent’s where the spec names none, also by the parent’s own call', async () => {
    const { kernel, path } = await kernelFixture();
    const parent = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.processes.spawnChild(parent, { name: 'one' });
    const second = await kernel.as(parent).spawnChild();
    for (const pid of [child, second])
      expect(await kernel.processes.get(pid)).toMatchObject({ image: 'worker@1', kind: 'agent', status: 'runnable' });
    const base = await kernel.processes.spawnChild(parent, { image: 'base' });
    expect(await kernel.processes.get(base)).toMatchObject({ image: 'base@1', kind: 'external', status: 'created' });
    const below = await kernel.processes.spawnChild(base);
    expect(await kernel.processes.get(below)).toMatchObject({ image: 'base@1' });
    await checkInvariants(kernel, path);
  });

  it('is the parent’s version, although a newer one is registered', async () => {
    const { kernel } = await kernelFixture();
    const parent = await kernel.processes.spawn({ image: 'worker' });
    kernel.images.register(defineImage({ name: 'worker', version: '2', run: async () => null }));
    const child = await kernel.processes.spawnChild(parent);
    expect(await kernel.processes.get(child)).toMatchObject({ image: 'worker@1' });
    await kernel.processes.exec(parent, { image: 'worker' });
    expect(await kernel.processes.get(await kernel.processes.spawnChild(parent))).toMatchObject({ image: 'worker@2' });
  });

  it('takes its arguments by the schema of that image', async () => {
    const { kernel, refused } = await kernelFixture({ images: [greeter] });
    const parent = await kernel.processes.spawn({ image: 'greeter', args: { who: 'you' } });
    expect(await refused(() => kernel.processes.spawnChild(parent))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { image: 'greeter@1' },
    });
    const child = await kernel.processes.spawnChild(parent, { args: { who: 'me' } });
    expect(await kernel.processes.get(child)).toMatchObject({ image: 'greeter@1', args: { who: 'me' } });
  });

  it('must be named under a command and under a supervisor', async () => {
    const command = commandImage({ name: 'nothing', command: process.execPath, args: ['-e', ''] });
    const { kernel, refused } = await kernelFixture({ images: [team, command] });
    const supervisor = await kernel.processes.spawn({ image: 'team' });
    const program = await kernel.processes.spawn({ image: 'nothing', held: true });
    for (const parent of [supervisor, program]) {
      expect(await refused(() => kernel.processes.spawnChild(parent))).toMatchObject({
        code: 'INVALID_INPUT',
        facts: { path: 'spec.image' },
      });
      const child = await kernel.processes.spawnChild(parent, { image: 'base' });
      expect(await kernel.processes.get(child)).toMatchObject({ parent, image: 'base@1' });
    }
  });

  it('is checked by the rules of the parent as a named one is', async () => {
    const { kernel, refused } = await kernelFixture();
    const parent = await kernel.processes.spawn({ image: 'worker' });
    await kernel.capabilities.deny(parent, { resource: 'image:worker', rights: ['spawn'] });
    expect((await refused(() => kernel.processes.spawnChild(parent))).code).toBe('CAPABILITY_DENIED');
    await kernel.processes.spawnChild(parent, { image: 'base' });
  });

  it('belongs to the spec of an id: none is another spec than the parent’s by name', async () => {
    const { kernel, refused } = await kernelFixture();
    const parent = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.processes.spawnChild(parent, { id: 'a' });
    expect(await kernel.processes.spawnChild(parent, { id: 'a' })).toBe(child);
    expect((await refused(() => kernel.processes.spawnChild(parent, { id: 'a', image: 'worker' }))).code).toBe(
      'CONFLICT',
    );
  });

  it('does not keep an id from answering that an older version registered without an image', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const parent = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.processes.spawnChild(parent, { image: 'base', goal: 'x' });
    const { image: _image, ...spec } = childSpec.parse({ id: 'old', goal: 'x' }) as object as JsonObject;
    const hash = sha256Hex(canonicalJson({ parent, spec: { ...spec, image: 'base' } }));
    await using tables = openRawTables(path);
    await tables.insert('registrations', { parent, id: 'old', pid: child, hash });
    expect(await kernel.processes.spawnChild(parent, { id: 'old', goal: 'x' })).toBe(child);
    expect(await kernel.processes.spawnChild(parent, { id: 'old', goal: 'x', image: 'base' })).toBe(child);
    expect((await refused(() => kernel.processes.spawnChild(parent, { id: 'old', goal: 'y' }))).code).toBe('CONFLICT');
  });
});

describe('deadlineMs', () => {
  it('is a duration of 366 days at most', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const longest = 366 * 24 * 60 * 60 * 1_000;
    for (const deadlineMs of [longest + 1, Date.now() + 60_000]) {
      const calls = [
        () => kernel.processes.spawn({ deadlineMs }),
        () => kernel.processes.spawnChild(root, { deadlineMs }),
        () => kernel.processes.fork(root, { deadlineMs }),
        () => kernel.as(root).spawnChild({ deadlineMs }),
      ];
      for (const call of calls) {
        expect(await refused(call)).toMatchObject({
          code: 'INVALID_INPUT',
          facts: { path: 'spec.deadlineMs', problem: expect.stringContaining('a duration, not a time') },
        });
      }
    }
    const child = await kernel.processes.spawnChild(root, { deadlineMs: longest });
    expect(await kernel.processes.get(child)).toMatchObject({ status: 'created' });
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
