import fc from 'fast-check';
import { applyPatch } from 'rfc6902';
import { describe, expect, it } from 'vitest';
import type { JsonPatch, JsonValue } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { ownerAndStranger } from '../support/memory/owner-and-stranger.js';
import { runsOnStore } from '../support/seeded.js';

/** Applies a patch with an independent library. That cannot replace a whole document, so `before` is wrapped in one. */
function resultOfPatch(before: JsonValue, patch: JsonPatch): JsonValue {
  const document = { whole: structuredClone(before) };
  const inside = (path: string) => `/whole${path}`;
  const operations = patch.map((one) => ({
    ...one,
    path: inside(one.path),
    ...('from' in one ? { from: inside(one.from) } : {}),
  }));
  expect(applyPatch(document, operations as never).filter((error) => error !== null)).toEqual([]);
  return document.whole;
}

/** Keys without `constructor`, which that library refuses in paths. */
const key = fc.constantFrom(
  ...['a', 'b', 'a/b', '~', '~1', '/', '', '0', '1', '-', 'é', 'toJSON', 'hasOwnProperty', 'valueOf'],
);
const scalar = fc.constantFrom<JsonValue>(null, true, false, 0, 1, -1.5, '', 'x', '0');
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
/** Two similar values: the second is the first with some of its parts replaced. */
const pair = fc.tuple(value, value, fc.array(fc.nat(30), { maxLength: 3 })).map(([before, other, places]) => {
  let place = 0;
  const changed = (at: JsonValue): JsonValue => {
    if (places.includes(place++)) return other;
    if (Array.isArray(at)) return at.map(changed);
    if (typeof at !== 'object' || at === null) return at;
    return Object.fromEntries(Object.entries(at).map(([name, member]) => [name, changed(member)]));
  };
  return [before, changed(before)] as const;
});

describe('a diff', () => {
  it('applied by another library gives the other side, for any two payloads', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const [a, b] = [await note(null), await note(null)];
    await fc.assert(
      fc.asyncProperty(fc.oneof(pair, fc.tuple(value, value)), async ([before, after]) => {
        await kernel.memory.update(owner, a, before);
        await kernel.memory.update(owner, b, after);
        const patch = await kernel.memory.diff(owner, a, b);
        expect(resultOfPatch(before, patch)).toEqual(after);
        expect(await kernel.memory.diff(owner, b, b)).toEqual([]);
      }),
      { numRuns: runsOnStore(250), seed: 3 },
    );
    await checkInvariants(kernel, path);
  });

  it('is an RFC 6902 patch, smallest where little has changed', async () => {
    const { kernel, owner, note } = await ownerAndStranger();
    const patch = async (before: JsonValue, after: JsonValue) =>
      kernel.memory.diff(owner, await note(before), await note(after));
    expect({
      same: await patch({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }),
      order: await patch({ a: 1, b: 2 }, { b: 2, a: 1 }),
      replaced: await patch({ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }),
      added: await patch({}, { 'a/b': { '~': 1 } }),
      constructor: await patch({ constructor: [] }, { constructor: [null] }),
      removed: await patch({ 'm~n': 1, x: null }, { x: null }),
      appended: await patch([1], [1, 2]),
      otherType: await patch({ a: [] }, { a: {} }),
      wholeType: await patch([], {}),
      scalars: await patch(1, '1'),
      sameScalars: await patch('1', '1'),
      fromNull: await patch(null, { a: 1 }),
    }).toEqual({
      same: [],
      order: [],
      replaced: [{ op: 'replace', path: '/a/1/b', value: 3 }],
      added: [{ op: 'add', path: '/a~1b', value: { '~': 1 } }],
      constructor: [{ op: 'add', path: '/constructor/0', value: null }],
      removed: [{ op: 'remove', path: '/m~0n' }],
      appended: [{ op: 'add', path: '/1', value: 2 }],
      otherType: [{ op: 'replace', path: '/a', value: {} }],
      wholeType: [{ op: 'replace', path: '', value: {} }],
      scalars: [{ op: 'replace', path: '', value: '1' }],
      sameScalars: [],
      fromNull: [{ op: 'replace', path: '', value: { a: 1 } }],
    });
  });

  it('of versions is between what they were, also after a restart', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const handle = await note({ n: 1 });
    await kernel.memory.update(owner, handle, { n: 2 });
    await kernel.memory.update(owner, handle, { n: 3 });
    await kernel.shutdown();
    const { memory } = (await kernelFixture({ store: path })).kernel;
    const at = (version: number) => ({ object: handle, version });
    expect([
      await memory.diff(owner, at(1), at(2)),
      await memory.diff(owner, at(3), { object: handle.id, version: 1 }),
      await memory.diff(owner, at(2), handle),
      await memory.diff(owner, handle.id, at(3)),
    ]).toEqual([
      [{ op: 'replace', path: '/n', value: 2 }],
      [{ op: 'replace', path: '/n', value: 1 }],
      [{ op: 'replace', path: '/n', value: 3 }],
      [],
    ]);
  });

  it('of an object through a copy is of what the copy shows', async () => {
    const { kernel, owner, note } = await ownerAndStranger();
    const handle = await note({ n: 1 });
    const child = await kernel.processes.fork(owner, { mode: 'copy' });
    await kernel.memory.update(child, handle, { n: 2, by: 'child' });
    await kernel.memory.update(owner, handle, { n: 3 });
    expect(await kernel.memory.diff(child, { object: handle, version: 1 }, handle)).toEqual([
      { op: 'replace', path: '/n', value: 2 },
      { op: 'add', path: '/by', value: 'child' },
    ]);
  });

  it('of views is between maps from their objects to what is in them', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const kept = await note('kept');
    const before = await kernel.memory.view(owner);
    const gone = await note({ 'a/b': 1 });
    const after = await kernel.memory.view(owner);
    expect([
      await kernel.memory.diff(owner, before, after),
      await kernel.memory.diff(owner, after, before),
      await kernel.memory.diff(owner, after, after),
    ]).toEqual([
      [{ op: 'add', path: `/${gone.id}`, value: { 'a/b': 1 } }],
      [{ op: 'remove', path: `/${gone.id}` }],
      [],
    ]);
    await kernel.memory.removeFromView(owner, kept);
    const without = await kernel.memory.view(owner);
    expect(await kernel.memory.diff(owner, after, without)).toEqual([{ op: 'remove', path: `/${kept.id}` }]);
    await checkInvariants(kernel, path);
  });
});

describe('the right to diff', () => {
  it('is needed on both sides, and enough', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const [a, b] = [await note({ n: 1 }), await note({ n: 2 })];
    await kernel.memory.share(owner, stranger, a, ['diff']);
    await kernel.memory.share(owner, stranger, b, ['read', 'write', 'materialize', 'link']);
    for (const [one, other] of [
      [a, b],
      [b, a],
      [{ object: b, version: 1 }, a],
    ] as const) {
      expect((await refused(() => kernel.memory.diff(stranger, one, other))).code).toBe('NO_SUCH_OBJECT');
    }
    await kernel.memory.share(owner, stranger, b, ['diff']);
    expect(await kernel.memory.diff(stranger, a, b)).toEqual([{ op: 'replace', path: '/n', value: 2 }]);
  });

  it('is needed on everything in a view', async () => {
    const { kernel, owner, stranger, note, refused } = await ownerAndStranger();
    const handle = await note();
    const empty = await kernel.memory.view(stranger);
    await kernel.memory.share(owner, stranger, handle, ['read']);
    await kernel.memory.addToView(stranger, handle);
    const full = await kernel.memory.view(stranger);
    expect(full.roots.map(({ id }) => id)).toContain(handle.id);
    expect((await refused(() => kernel.memory.diff(stranger, empty, full))).code).toBe('NO_SUCH_OBJECT');
    await kernel.memory.share(owner, stranger, handle, ['diff']);
    expect(await kernel.memory.diff(stranger, empty, full)).toEqual([
      { op: 'add', path: `/${handle.id}`, value: { n: 1 } },
    ]);
  });
});

describe('a side of a diff', () => {
  it('that is neither object nor version nor view is refused', async () => {
    const { kernel, owner, note, refused } = await ownerAndStranger();
    const handle = await note();
    const touched = () => {
      throw new Error('touched');
    };
    const sides: unknown[] = [
      undefined,
      null,
      5,
      '',
      [],
      {},
      { object: handle },
      { version: 1 },
      { object: handle, version: 0 },
      { object: handle, version: '1' },
      { object: handle.toJSON(), version: 1 },
      { roots: [handle] },
      { id: 'view_1', mode: 'mutable', roots: handle },
      { id: 'view_1', mode: 'mutable', roots: [null] },
      { id: 'view_1', mode: 'mutable', roots: [handle.toJSON()] },
      { id: 'view_1', mode: 'mutable', roots: [handle], more: 1 },
      new Proxy({}, { has: touched, get: touched, getPrototypeOf: touched, ownKeys: touched }),
      Object.defineProperty({}, 'roots', { get: touched, enumerable: true }),
      touched,
    ];
    for (const side of sides) {
      expect((await refused(() => kernel.memory.diff(owner, side as never, handle))).code).toBe('INVALID_INPUT');
      expect((await refused(() => kernel.memory.diff(owner, handle, side as never))).code).toBe('INVALID_INPUT');
    }
    const facts = { object: handle.id, version: 2, newest: 1 };
    const call = () => kernel.memory.diff(owner, handle, { object: handle, version: 2 });
    expect(await refused(call)).toEqual({ code: 'NO_SUCH_OBJECT', facts });
  });
});

describe('large payloads', () => {
  it('are compared in time that grows with their size', async () => {
    const { kernel, owner, note } = await ownerAndStranger();
    const numbers = Array.from({ length: 100_000 }, (_, n) => n);
    const members = (add: number) =>
      Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, { n: n % 7 === 0 ? n + add : n }]));
    for (const [before, after] of [
      [numbers, numbers.slice(1)],
      [numbers.slice(1), numbers],
      [numbers, [...numbers].reverse()],
      [members(0), members(1)],
    ] as [JsonValue, JsonValue][]) {
      const patch = await kernel.memory.diff(owner, await note(before), await note(after));
      expect(resultOfPatch(before, patch)).toEqual(after);
    }
  });
});
