import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { describe, expect, it } from 'vitest';
import type { CapabilitySpec } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { eventsAfter, kernelFixture, lastSeq } from '../support/kernel-fixture.js';
import { ownerAndStranger, refusalDetails, unknownId } from '../support/memory/owner-and-stranger.js';

const notes: CapabilitySpec = { resource: 'ns:team/notes/**', rights: ['create', 'read', 'write', 'delete'] };
const sha256 = (value: unknown) =>
  createHash('sha256')
    .update(canonicalize(value) ?? '')
    .digest('hex');

describe('creating an object', () => {
  it('keeps everything that was said of it, also for a kernel that opens the file later', async () => {
    const { kernel, path, owner } = await ownerAndStranger(notes);
    const source = await kernel.memory.create(owner, { type: 'evidence', payload: 'seen' });
    const payload = { b: [1, null, { c: 'ü' }], a: true };
    const handle = await kernel.memory.create(owner, {
      type: 'plan',
      payload,
      name: 'the plan',
      namespace: 'team/notes',
      title: 'What we do',
      tags: ['x', 'y', 'x'],
      immutable: false,
      sources: [source, source.id],
    });
    const stored = await kernel.memory.read(owner, handle);
    expect(stored).toEqual({
      id: handle.id,
      type: 'plan',
      payload,
      version: 1,
      hash: sha256(payload),
      name: 'the plan',
      namespace: 'team/notes',
      title: 'What we do',
      tags: ['x', 'y'],
      immutable: false,
      createdBy: owner,
      createdAt: stored.createdAt,
      tokens: stored.tokens,
      sources: [source.id],
    });
    expect([stored.createdAt <= Date.now(), stored.tokens > 0]).toEqual([true, true]);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    expect(await again.memory.read(owner, handle.id)).toEqual(stored);
    await checkInvariants(again, path);
  });

  it('keeps it out of the view and its contexts with inView: false, and is found by name', async () => {
    const { kernel, owner } = await ownerAndStranger(notes);
    const spec = { type: 'summary', payload: { text: 'not for models' }, name: 'aside' } as const;
    const aside = await kernel.memory.create(owner, { ...spec, inView: false });
    const shown = await kernel.memory.create(owner, { ...spec, name: 'shown' });
    expect((await kernel.memory.query(owner, { types: ['summary'] })).items.map(({ id }) => id)).toEqual([shown.id]);
    expect((await kernel.memory.lookup(owner, 'aside')).id).toBe(aside.id);
    expect((await kernel.memory.read(owner, aside)).payload).toEqual(spec.payload);
  });

  it('with nothing but a type and a payload makes an immutable one in the process’s own namespace', async () => {
    const { kernel, path, owner } = await ownerAndStranger();
    const handle = await kernel.memory.create(owner, { type: 'claim', payload: null });
    const { createdAt, tokens, ...stored } = await kernel.memory.read(owner, handle);
    expect(stored).toEqual({
      id: handle.id,
      type: 'claim',
      payload: null,
      version: 1,
      hash: sha256(null),
      namespace: `process/${owner}`,
      tags: [],
      immutable: true,
      createdBy: owner,
      sources: [],
    });
    await checkInvariants(kernel, path);
  });

  it('answers with a handle that names the capability and its rights, and is told once', async () => {
    const { kernel, owner } = await ownerAndStranger(notes);
    const before = await lastSeq(kernel);
    const own = await kernel.memory.create(owner, { type: 'claim', payload: 1 });
    const shared = await kernel.memory.create(owner, { type: 'claim', payload: 1, namespace: 'team/notes' });
    const held = await kernel.capabilities.list(owner);
    const on = (resource: string) => {
      const { id, rights } = held.find((one) => one.resource === resource) ?? { id: '', rights: [] };
      return { capability: id, rights: [...rights] };
    };
    expect([own.toJSON(), shared.toJSON()]).toEqual([
      { object: own.id, ...on(`ns:process/${owner}/**`) },
      { object: shared.id, ...on('ns:team/notes/**') },
    ]);
    expect(await eventsAfter(kernel, before)).toEqual([
      ['object.created', owner],
      ['object.created', owner],
    ]);
    expect((await kernel.memory.view(owner)).roots.map(({ id }) => id)).toEqual(
      [(await kernel.processes.get(owner)).goal, own.id, shared.id].sort(),
    );
  });

  it('of any type is possible, and of another one is not', async () => {
    const { kernel, owner, refused } = await ownerAndStranger();
    const types =
      'goal plan task step constraint message tool_result observation evidence claim summary artifact code_patch test_result error decision external_ref'.split(
        ' ',
      );
    for (const type of types) await kernel.memory.create(owner, { type: type as 'plan', payload: type });
    const { items } = await kernel.memory.query(owner);
    expect(items.map(({ type }) => type).sort()).toEqual(['goal', ...types].sort());
    for (const type of ['', 'Plan', 'thing', undefined, 5]) {
      const refusal = await refused(() => kernel.memory.create(owner, { type: type as 'plan', payload: 1 }));
      expect(refusal).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'spec.type' } });
    }
  });

  it('is refused for fields that are too long, unprintable or unknown', async () => {
    const { kernel, owner, refused } = await ownerAndStranger();
    const bad: object[] = [
      { name: '' },
      { name: 'x'.repeat(257) },
      { name: 'a\nb' },
      { title: 'x'.repeat(1025) },
      { tags: [''] },
      { tags: Array(65).fill('x') },
      { tags: 'x' },
      { immutable: 'yes' },
      { sources: 'x' },
      { sources: [{}] },
      { sources: Array(1025).fill('x') },
      { namespace: '' },
      { namespace: 'a//b' },
      { namespace: '/a' },
      { namespace: 'a/../b' },
      { namespace: 'team/*' },
      { namespace: 'a\u202eb' },
      { namespace: 'x'.repeat(1025) },
      { version: 3 },
      { createdBy: 'p_other' },
    ];
    for (const more of bad) {
      const call = () => kernel.memory.create(owner, { type: 'claim', payload: 1, ...more });
      expect([more, (await refused(call)).code]).toEqual([more, 'INVALID_INPUT']);
    }
    expect((await refused(() => kernel.memory.create(owner, { type: 'claim' } as never))).code).toBe('INVALID_INPUT');
  });
});

describe('a namespace', () => {
  it('that is shared takes objects of those that hold create on it, and of nobody else', async () => {
    const { kernel, path, owner, stranger, refused } = await ownerAndStranger(notes);
    const put = (pid: string, namespace: string) => kernel.memory.create(pid, { type: 'claim', payload: 1, namespace });
    for (const namespace of ['team/notes', 'team/notes/2030/may']) {
      expect((await kernel.memory.read(owner, await put(owner, namespace))).namespace).toBe(namespace);
      expect((await refused(() => put(stranger, namespace))).code).toBe('CAPABILITY_DENIED');
    }
    for (const namespace of ['team', 'team/notes2', 'other']) {
      expect((await refused(() => put(owner, namespace))).code).toBe('CAPABILITY_DENIED');
    }
    await kernel.capabilities.grant(stranger, { resource: 'ns:team/**', rights: ['read', 'write', 'list', 'delete'] });
    expect((await refused(() => put(stranger, 'team/notes'))).code).toBe('CAPABILITY_DENIED');
    await checkInvariants(kernel, path);
  });

  it('of another process takes nothing, not even for a holder of everything that a wildcard reaches', async () => {
    const { kernel, owner, stranger, refused } = await ownerAndStranger();
    await kernel.capabilities.grant(stranger, { resource: 'ns:**', rights: ['create', 'read', 'write', 'delete'] });
    const put = (namespace: string) => kernel.memory.create(stranger, { type: 'claim', payload: 1, namespace });
    expect((await kernel.memory.read(stranger, await put('anywhere'))).namespace).toBe('anywhere');
    for (const namespace of [`process/${owner}`, `process/${owner}/x`, 'process/p_none', 'process']) {
      expect([namespace, (await refused(() => put(namespace))).code]).toEqual([namespace, 'CAPABILITY_DENIED']);
    }
  });

  it('of another process is refused alike whether there is such a process or not', async () => {
    const { kernel, owner, stranger } = await ownerAndStranger();
    const face = kernel.as(stranger);
    const put = (pid: string) => face.memory.create({ type: 'claim', payload: 1, namespace: `process/${pid}` });
    const shown = async (pid: string) =>
      JSON.parse(JSON.stringify(await refusalDetails(() => put(pid), pid)).replace(/o_\w+/g, 'o_'));
    expect(await shown(owner)).toEqual(await shown('p_nobody'));
  });
});

describe('a name', () => {
  it('is unique among the live objects of its namespace, and only there', async () => {
    const { kernel, path, owner, stranger, note, refused } = await ownerAndStranger(notes);
    const first = await note(1, { name: 'n' });
    await note(2, { name: 'n', namespace: 'team/notes' });
    await note(3, { name: 'N' });
    await kernel.memory.create(stranger, { type: 'claim', payload: 4, name: 'n' });
    await note(5);
    await note(6);
    expect(await refused(() => note(7, { name: 'n' }))).toEqual({
      code: 'CONFLICT',
      facts: { namespace: `process/${owner}`, name: 'n', object: first.id },
    });
    await kernel.memory.delete(owner, first);
    const second = await note(8, { name: 'n' });
    expect([second.id === first.id, (await kernel.memory.lookup(owner, 'n')).id]).toEqual([false, second.id]);
    await checkInvariants(kernel, path);
  });

  it('that is taken is told to those that may create there, and to nobody else', async () => {
    const { kernel, stranger, note } = await ownerAndStranger(notes);
    await note(1, { name: 'taken', namespace: 'team/notes' });
    const face = kernel.as(stranger);
    const put = (name: string) => face.memory.create({ type: 'claim', payload: 1, name, namespace: 'team/notes' });
    const shown = async (name: string) =>
      JSON.parse(JSON.stringify(await refusalDetails(() => put(name), name)).replace(/o_\w+/g, 'o_'));
    expect(await shown('taken')).toMatchObject({ code: 'CAPABILITY_DENIED' });
    expect(await shown('taken')).toEqual(await shown('free'));
    await kernel.capabilities.grant(stranger, { resource: 'ns:team/notes/**', rights: ['create'] });
    expect(await shown('taken')).toMatchObject({ code: 'CONFLICT' });
    await put('free');
  });

  it('of any printable text is stored as it is and found by itself only', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const names = [
      "it's",
      '"q"',
      '100%',
      '_',
      "'; DROP TABLE objects; --",
      'ünï',
      '日本',
      '🙂',
      '?',
      ':a',
      ' ',
      'a/b',
      '*',
    ];
    const made = new Map<string, string>();
    for (const name of names) made.set(name, (await note(name, { name, title: name, tags: [name] })).id);
    for (const name of names) {
      expect((await kernel.memory.lookup(owner, name)).id).toBe(made.get(name));
      for (const filter of [{ name }, { tags: [name] }]) {
        expect((await kernel.memory.query(owner, filter)).items.map(({ id }) => id)).toEqual([made.get(name)]);
      }
    }
    await checkInvariants(kernel, path);
  });
});

describe('a source', () => {
  it('is kept with the version that was read', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const source = await note();
    await kernel.memory.update(owner, source, { n: 2 });
    const made = await note('made', { sources: [source] });
    await kernel.memory.update(owner, source, { n: 3 });
    expect((await kernel.memory.history(owner, made)).map(({ sources }) => sources)).toEqual([
      [{ object: source.id, version: 2 }],
    ]);
    expect((await kernel.memory.read(owner, made)).sources).toEqual([source.id]);
    await checkInvariants(kernel, path);
  });

  it('that may not be read is refused, and nothing is made', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const foreign = await note();
    const gone = await note();
    await kernel.memory.delete(owner, gone);
    for (const source of [foreign, foreign.id, gone.id, unknownId]) {
      const call = () => kernel.memory.create(stranger, { type: 'claim', payload: 1, sources: [source] });
      expect((await refused(call)).code).toBe('NO_SUCH_OBJECT');
    }
  });
});
