import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { ownerAndStranger } from '../support/memory/owner-and-stranger.js';
import { openRawTables } from '../support/storage/raw-tables.js';

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function cyclic(): unknown {
  const value: Record<string, unknown> = { a: 1 };
  value.self = [value];
  return value;
}

const touched = () => {
  throw new Error('touched');
};

/** Values that are not plain data, or exceed a limit. */
const notData: Readonly<Record<string, unknown>> = {
  'a member named __proto__': JSON.parse('{"__proto__":{"polluted":true}}'),
  'a nested member named __proto__': JSON.parse('{"a":[{"__proto__":{"polluted":true}}]}'),
  'a getter': Object.defineProperty({}, 'text', { get: touched, enumerable: true }),
  'a getter in an array': Object.defineProperty([1], 0, { get: touched, enumerable: true }),
  'a cycle': cyclic(),
  'a depth of 20,000': nested(20_000),
  'a depth of 65': nested(65),
  'a text of 50 MB': 'x'.repeat(50_000_000),
  'a text that is a byte too long': 'x'.repeat(1024 * 1024 - 1),
  'a text of too many bytes': '€'.repeat(400_000),
  'a text of too many escapes': '\u0001'.repeat(200_000),
  'five million numbers': Array(5_000_000).fill(1),
  'a million nulls': Array(1_000_000).fill(null),
  'a sparse array': Array(2 ** 32 - 1),
  'a lone surrogate': '\ud800',
  'a lone surrogate as a key': { '\udfff': 1 },
  'a BigInt': 1n,
  'a BigInt in a list': [10n ** 30n],
  NaN: Number.NaN,
  'minus infinity': { n: Number.NEGATIVE_INFINITY },
  undefined: undefined,
  'undefined in an array': [undefined],
  'a function': { f: touched },
  'a symbol': Symbol('x'),
  'a Date': new Date(0),
  'a Map': new Map(),
  'a proxy': new Proxy({}, { ownKeys: touched, getPrototypeOf: touched, get: touched }),
};

describe('a payload that is not data', () => {
  it.each(Object.keys(notData))('is refused when it is made and when it is updated: %s', async (name) => {
    const { kernel, owner, note, refused } = await ownerAndStranger();
    const payload = notData[name] as JsonValue;
    const handle = await note();
    for (const call of [
      () => kernel.memory.create(owner, { type: 'claim', payload }),
      () => kernel.as(owner).memory.create({ type: 'claim', payload }),
      () => kernel.memory.update(owner, handle, payload),
    ]) {
      expect((await refused(call)).code).toBe('INVALID_INPUT');
    }
    expect(({} as { polluted?: unknown }).polluted).toBe(undefined);
  });

  it('is a handle, which is no data either', async () => {
    const { kernel, owner, note, refused } = await ownerAndStranger();
    const handle = await note();
    for (const payload of [handle, { nested: [handle] }] as unknown as JsonValue[]) {
      expect((await refused(() => kernel.memory.create(owner, { type: 'claim', payload }))).code).toBe('INVALID_INPUT');
      expect((await refused(() => kernel.memory.update(owner, handle, payload))).code).toBe('INVALID_INPUT');
    }
  });
});

describe('a payload', () => {
  it('is copied clean when the call is made: later changes are not seen, undefined members are absent', async () => {
    const { kernel, path, owner } = await ownerAndStranger();
    const given: Record<string, unknown> = { a: [1, { b: null }], gone: undefined, [Symbol('x')]: 1, z: -0 };
    Object.defineProperty(given, 'hidden', { value: 1, enumerable: false });
    const creating = kernel.memory.create(owner, { type: 'claim', payload: given as JsonValue, immutable: false });
    given.a = 'changed';
    const handle = await creating;
    expect(JSON.stringify((await kernel.memory.read(owner, handle)).payload)).toBe('{"a":[1,{"b":null}],"z":0}');
    const list = [1, 2];
    const updating = kernel.memory.update(owner, handle, list);
    list.push(3);
    await updating;
    expect((await kernel.memory.read(owner, handle)).payload).toEqual([1, 2]);
    await checkInvariants(kernel, path);
  });

  it('that was read belongs to the reader: changing it changes nothing', async () => {
    const { kernel, owner, note } = await ownerAndStranger();
    const handle = await note({ list: [1] });
    const first = (await kernel.memory.read(owner, handle)).payload as { list: number[] };
    first.list.push(2);
    expect((await kernel.memory.read(owner, handle)).payload).toEqual({ list: [1] });
  });

  it('as deep and as large as allowed is taken', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const large = ['x'.repeat(1024 * 1024 - 4), '€'.repeat(349_000), Array(100_000).fill(1), nested(64)];
    for (const payload of large) {
      expect((await kernel.memory.read(owner, await note(payload))).payload).toEqual(payload);
    }
    await checkInvariants(kernel, path);
  });

  it('of any JSON comes back as it was, in every version and after a restart', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const handle = await note(null);
    const values: JsonValue[] = [null];
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), async (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('__proto__') && text.isWellFormed() && !text.includes('\\ud'));
        values.push(JSON.parse(text));
        await kernel.memory.update(owner, handle, JSON.parse(text));
      }),
      { numRuns: 60, seed: 1 },
    );
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    for (const [index, payload] of values.entries()) {
      expect((await again.memory.read(owner, handle, { version: index + 1 })).payload).toEqual(payload);
    }
    await checkInvariants(again, path);
  });

  it('keeps the largest and the smallest numbers that a double has, also beyond the safe integers', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const { MAX_SAFE_INTEGER, MAX_VALUE, MIN_VALUE, EPSILON } = Number;
    const numbers = [
      MAX_SAFE_INTEGER,
      MAX_SAFE_INTEGER + 1,
      2 ** 63,
      1e21,
      1e308,
      MAX_VALUE,
      MIN_VALUE,
      EPSILON,
      -1e-7,
    ];
    const handle = await note(numbers);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    expect((await again.memory.read(owner, handle)).payload).toEqual(numbers);
    await checkInvariants(again, path);
  });

  it('keeps members whose names belong to every object', async () => {
    const { kernel, owner, note } = await ownerAndStranger();
    const payload = JSON.parse('{"constructor":1,"toString":2,"hasOwnProperty":{"prototype":3},"valueOf":null}');
    expect((await kernel.memory.read(owner, await note(payload))).payload).toEqual(payload);
  });
});

describe('the content hash', () => {
  it('is that of the canonical JSON, whatever the order of the keys', async () => {
    const { kernel, owner, note } = await ownerAndStranger();
    const hashes = [];
    for (const payload of [
      { b: 1, a: { y: 2, x: [1.0, 1e2] }, 10: 'ten', 9: 'nine' },
      { 9: 'nine', a: { x: [1, 100], y: 2 }, 10: 'ten', b: 1 },
    ]) {
      hashes.push((await kernel.memory.read(owner, await note(payload))).hash);
    }
    const text = canonicalize({ b: 1, a: { y: 2, x: [1, 100] }, 9: 'nine', 10: 'ten' }) ?? '';
    const expected = createHash('sha256').update(text).digest('hex');
    expect(hashes).toEqual([expected, expected]);
  });

  it('names what is stored once, in whatever object, version or view it stands', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const large = { text: 'x'.repeat(2_000), 10: 1, 9: 2 };
    const rows = () => openRawTables(path).count('payloads');
    const handle = await note(large);
    await note({ 9: 2, 10: 1, text: large.text });
    await kernel.memory.update(owner, handle, 'small');
    await kernel.memory.update(owner, handle, large);
    const child = await kernel.processes.fork(owner, { mode: 'copy' });
    await kernel.memory.update(child, handle, 'small');
    await kernel.memory.update(child, handle, large);
    await kernel.memory.update(child, handle, large);
    expect(await rows()).toBe(1);
    await kernel.memory.update(child, handle, { ...large, more: 1 });
    expect(await rows()).toBe(2);
    await checkInvariants(kernel, path);
  });

  it('is right on both sides of the size up to which a payload stands in its row', async () => {
    const { kernel, path, owner, note } = await ownerAndStranger();
    const stored = [];
    for (const length of [1021, 1022, 1023]) {
      const payload = 'x'.repeat(length);
      const { id } = await note(payload);
      expect((await kernel.memory.read(owner, id)).payload).toBe(payload);
      const row = await openRawTables(path).find('objects', { id });
      stored.push(row?.payload === null);
    }
    expect(stored).toEqual([false, false, true]);
    await checkInvariants(kernel, path);
  });
});
