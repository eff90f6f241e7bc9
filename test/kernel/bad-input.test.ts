import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Kernel, KernelError, type Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { type KernelFixture, kernelFixture } from '../support/kernel-fixture.js';
import { RawTables } from '../support/storage/raw-tables.js';

class Instance {
  readonly name = 'x';
}

function nestedArrays(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function cyclicValue(): unknown {
  const value: Record<string, unknown> = { a: 1 };
  value.self = value;
  return value;
}

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const trap = () => {
  throw new Error('touched');
};
const throwingProxy = new Proxy(
  {},
  { get: trap, ownKeys: trap, getPrototypeOf: trap, has: trap, getOwnPropertyDescriptor: trap },
);

/** Values that are not data, or too large. The kernel must not run, store or await any of them. */
const notData: Readonly<Record<string, unknown>> = {
  'a member named __proto__': JSON.parse('{"__proto__":{"polluted":true}}'),
  'a nested member named __proto__': JSON.parse('{"a":[{"__proto__":{"polluted":true}}]}'),
  'a getter': Object.defineProperty({}, 'text', { get: trap, enumerable: true }),
  'a getter in an array': Object.defineProperty([1], 0, { get: trap, enumerable: true }),
  'a cycle': cyclicValue(),
  'a depth of 20,000': nestedArrays(20_000),
  'a text of 50 MB': { text: 'x'.repeat(50_000_000) },
  'five million numbers': { list: Array(5_000_000).fill(1) },
  'a sparse array': { list: Array(2 ** 32 - 1) },
  'a lone surrogate': { text: '\ud800' },
  'a lone surrogate as a key': { '\udfff': 1 },
  'a BigInt': { n: 1n },
  'an instance of a class': { one: new Instance() },
  'a Map': { map: new Map([[1, 2]]) },
  'a Date': { at: new Date(0) },
  'a Buffer': { bytes: Buffer.from('x') },
  'a proxy': throwingProxy,
  'a nested proxy': { a: throwingProxy },
  'a revoked proxy': { a: revokedProxy() },
  'a function': { f: trap },
  'a symbol': { s: Symbol('x') },
  NaN: { n: Number.NaN },
  Infinity: { n: Number.POSITIVE_INFINITY },
  'undefined in an array': { list: [undefined] },
};

/** A fixture with a live tree and an ended process. */
async function populatedFixture(): Promise<KernelFixture & { live: Pid; child: Pid; ended: Pid }> {
  const set = await kernelFixture();
  const live = await set.kernel.processes.spawn({ image: 'worker' });
  const child = await set.kernel.processes.spawnChild(live, {});
  const ended = await set.kernel.processes.spawn({});
  await set.kernel.processes.exit(ended);
  return { ...set, live, child, ended };
}

describe('a payload that is not data', () => {
  for (const [name, payload] of Object.entries(notData)) {
    it(`is refused everywhere: ${name}`, async () => {
      const { kernel, live, child, refused } = await populatedFixture();
      const bad = payload as never;
      const calls = [
        () => kernel.processes.spawn({ goal: bad }),
        () => kernel.processes.spawn({ args: bad }),
        () => kernel.processes.spawnChild(live, { goal: bad }),
        () => kernel.processes.fork(live, { args: bad }),
        () => kernel.processes.exec(live, { image: 'worker', goal: bad }),
        () => kernel.processes.exit(live, { result: bad }),
        () => kernel.processes.signal(live, 'user.x', { payload: bad }),
        () => kernel.as(live).send(child, bad),
        () => kernel.as(live).receive(bad),
        () => kernel.processes.spawn(bad),
        () => kernel.processes.list(bad),
      ];
      for (const call of calls) expect((await refused(call)).code).toBe('INVALID_INPUT');
      expect(({} as { polluted?: unknown }).polluted).toBe(undefined);
    });
  }
});

describe('a payload that is data', () => {
  it('is copied clean: symbols and hidden members are left out, undefined is absent, later changes are not seen', async () => {
    const { kernel } = await kernelFixture();
    const given: Record<string, unknown> = { a: [1, { b: null }], gone: undefined, [Symbol('x')]: 1, z: -0 };
    Object.defineProperty(given, 'hidden', { value: 1, enumerable: false });
    const spawning = kernel.processes.spawn({ goal: given as never });
    given.a = 'changed';
    const pid = await spawning;
    const { payload } = await kernel.memory.read(pid, (await kernel.processes.get(pid)).goal);
    expect(JSON.stringify(payload)).toBe('{"a":[1,{"b":null}],"z":0}');
  });

  it('keeps members whose names belong to every object', async () => {
    const { kernel, path } = await kernelFixture();
    const goal = JSON.parse('{"constructor":1,"toString":2,"hasOwnProperty":{"prototype":3},"valueOf":null}');
    const pid = await kernel.processes.spawn({ goal, labels: { constructor: 'x', toString: 'y' } });
    const record = await kernel.processes.get(pid);
    expect((await kernel.memory.read(pid, record.goal)).payload).toEqual(goal);
    expect({ ...record.labels }).toEqual({ constructor: 'x', toString: 'y' });
    expect((await kernel.processes.list({ labels: { toString: 'y' } })).items.length).toBe(1);
    await checkInvariants(kernel, path);
  });

  it('of any JSON comes back as it was', async () => {
    const { kernel, path } = await kernelFixture();
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), async (value) => {
        fc.pre(!JSON.stringify(value).includes('__proto__'));
        fc.pre(JSON.stringify(value).isWellFormed());
        const plain = JSON.parse(JSON.stringify(value));
        const pid = await kernel.processes.spawn({ args: plain });
        await kernel.processes.exit(pid, { result: plain });
        expect((await kernel.processes.result(pid)).value).toEqual(plain);
      }),
      { numRuns: 60, seed: 1 },
    );
    await checkInvariants(kernel, path);
  });

  it('as deep and as large as allowed is taken, one more is refused', async () => {
    const { kernel, refused } = await kernelFixture();
    const at = (depth: number) => ({ args: nestedArrays(depth) as never });
    let deepest = 0;
    for (let depth = 1; depth <= 70; depth++) {
      const taken = await kernel.processes.spawn(at(depth)).then(
        () => true,
        () => false,
      );
      if (taken) deepest = depth;
    }
    expect(deepest).toBe(64);
    expect((await refused(() => kernel.processes.spawn(at(65)))).code).toBe('INVALID_INPUT');
    const large = { goal: { text: 'x'.repeat(1_000_000) } };
    expect(await kernel.processes.spawn(large)).toMatch(/^p_/);
    const larger = { goal: { text: 'x'.repeat(1024 * 1024) } };
    expect((await refused(() => kernel.processes.spawn(larger))).code).toBe('INVALID_INPUT');
  });
});

describe('a name', () => {
  const kept = [
    "it's",
    '"quoted"',
    '100%',
    '_',
    "'; DROP TABLE processes; --",
    'ünï',
    '日本',
    '🙂',
    '$1',
    '?',
    ':a',
    ' ',
  ];
  const refusedNames = ['', 'a\nb', 'a\0b', 'a\x1b[2J', 'a\u202eb', 'x'.repeat(257), 'x'.repeat(10_240), '\ud800'];

  it('is stored as it is, and found again by itself only', async () => {
    const { kernel, path } = await kernelFixture();
    for (const name of kept) await kernel.processes.spawn({ name, labels: { [name]: name }, owner: { session: name } });
    for (const name of kept) {
      const filters = [{ name }, { labels: { [name]: name } }, { owner: { session: name } }];
      for (const filter of filters) {
        const { items } = await kernel.processes.list(filter);
        expect(items.map((record) => [record.name, { ...record.labels }, { ...record.owner }])).toEqual([
          [name, { [name]: name }, { session: name }],
        ]);
      }
    }
    await checkInvariants(kernel, path);
  });

  it('that is empty, unprintable or too long is refused', async () => {
    const { kernel, live, refused } = await populatedFixture();
    for (const name of refusedNames) {
      const calls = [
        () => kernel.processes.spawn({ name }),
        () => kernel.processes.spawn({ labels: { [name]: 'x' } }),
        () => kernel.processes.spawn({ owner: { session: name } }),
        () => kernel.processes.signal({ name }, 'kill'),
        () => kernel.processes.signal(live, 'kill', { id: name }),
        () => kernel.processes.list({ name }),
      ];
      for (const call of calls) expect((await refused(call)).code).toBe('INVALID_INPUT');
    }
    const pids = ['', 'x'.repeat(513), '\ud800', 5, null, undefined, {}, []];
    for (const pid of pids) {
      expect((await refused(() => kernel.processes.get(pid as never))).code).toBe('INVALID_INPUT');
      expect((await refused(() => kernel.processes.exit(pid as never))).code).toBe('INVALID_INPUT');
    }
    for (const pid of kept) expect((await refused(() => kernel.processes.get(pid))).code).toBe('NO_SUCH_PROCESS');
  });
});

describe('an unknown property', () => {
  it('of any spec is refused, and named', async () => {
    const { kernel, live, ended, refused } = await populatedFixture();
    const odd = { surprise: 1 } as never;
    const with_ = (more: object) => ({ ...more, surprise: 1 }) as never;
    const calls: [string, () => Promise<unknown>][] = [
      ['spawn', () => kernel.processes.spawn(odd)],
      ['spawnChild', () => kernel.processes.spawnChild(live, odd)],
      ['fork', () => kernel.processes.fork(live, odd)],
      ['fork view', () => kernel.processes.fork(live, { view: odd })],
      ['exec', () => kernel.processes.exec(live, with_({ image: 'worker' }))],
      ['exit', () => kernel.processes.exit(live, odd)],
      ['wait', () => kernel.processes.wait(live, ended, odd)],
      ['waitAny', () => kernel.processes.waitAny(live, undefined, odd)],
      ['waitAll', () => kernel.processes.waitAll(live, undefined, odd)],
      ['result', () => kernel.processes.result(ended, odd)],
      ['receive', () => kernel.as(live).receive(odd)],
      ['signal', () => kernel.processes.signal(live, 'kill', odd)],
      ['scope', () => kernel.processes.signal(odd, 'kill')],
      ['owner', () => kernel.processes.spawn({ owner: odd })],
      ['budget', () => kernel.processes.spawn({ budget: odd })],
      ['charge', () => kernel.processes.charge(live, odd)],
      ['setBudget', () => kernel.processes.setBudget(live, odd)],
      ['progress', () => kernel.processes.progress(live, with_({ done: 1 }))],
      ['list', () => kernel.processes.list(odd)],
      ['children', () => kernel.processes.children(live, odd)],
      ['tree', () => kernel.processes.tree(live, odd)],
      ['prune', () => kernel.processes.prune(with_({ endedBefore: 1 }))],
      ['events.list', () => kernel.events.list(odd)],
      ['audit.list', () => kernel.audit.list(odd)],
      ['audit.verify', () => kernel.audit.verify(odd)],
      ['grant', () => kernel.capabilities.grant(live, with_({ resource: 'tool:x', rights: ['call'] }))],
      ['capabilities.list', () => kernel.capabilities.list(live, odd)],
    ];
    for (const [name, call] of calls) {
      expect([name, await refused(call)]).toMatchObject([
        name,
        { code: 'INVALID_INPUT', facts: { unknown: ['surprise'] } },
      ]);
    }
  });
});

describe('any argument of any public method', () => {
  it('of capabilities.check and explain is answered with a denial, whatever it is', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    for (const strange of [...Object.values(notData), Symbol('x'), Object.create(null), undefined, null, 7, '']) {
      for (const args of [
        [strange, 'call', 'tool:x'],
        [pid, strange, 'tool:x'],
        [pid, 'call', strange],
        [pid, 'call', 'tool:x', strange],
      ]) {
        const { effect } = await kernel.capabilities.check(...(args as [never, never, never]));
        expect(effect).toBe('deny');
        expect(await kernel.capabilities.explain(...(args as [never, never, never]))).toMatchObject({ effect });
      }
    }
  });

  type Call = (kernel: Kernel, args: readonly unknown[]) => unknown;
  const on = (pick: (kernel: Kernel) => object, name: string): [string, Call] => [
    name,
    (kernel, args) => {
      const target = pick(kernel);
      return (Reflect.get(target, name) as (...given: readonly unknown[]) => unknown).apply(target, [...args]);
    },
  ];
  const processes =
    'spawn fork spawnChild exec wait waitAny waitAll result signal pause resume cancel kill exit complete fail progress abandon chdir charge reserve settle budget setBudget get list children ancestors tree journal goal transcript prune'
      .split(' ')
      .map((name) => on((kernel) => kernel.processes, name));
  const capabilities = 'grant check explain list get chain'
    .split(' ')
    .map((name) => on((kernel) => kernel.capabilities, name));
  const audit = 'list get verify prove proveConsistency lineage erase export'
    .split(' ')
    .map((name) => on((kernel) => kernel.audit, name));
  const approvals = 'list get answer'.split(' ').map((name) => on((kernel) => kernel.approvals, name));
  const methodsOfMemory =
    'create read update delete link links diff history lookup query share view addToView removeFromView merge materialize';
  const memory = [
    ...`${methodsOfMemory} sweep inspect list`.split(' ').map((name) => on((kernel) => kernel.memory, name)),
    ...methodsOfMemory.split(' ').map((name) => on((kernel) => kernel.as('p_none').memory, name)),
  ];
  const events = 'on list stream'.split(' ').map((name) => on((kernel) => kernel.events, name));
  const others = [
    on((kernel) => kernel, 'as'),
    on((kernel) => kernel.images, 'register'),
    on((kernel) => kernel.tools, 'register'),
    on((kernel) => kernel.as('p_none').tools, 'call'),
    ...'spawnChild fork exec exit wait waitAny waitAll kill cancel pause resume send receive chdir'
      .split(' ')
      .map((name) => on((kernel) => kernel.as('p_none'), name)),
    ...'list check explain'.split(' ').map((name) => on((kernel) => kernel.as('p_none').capabilities, name)),
  ];

  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: true,
    withObjectString: true,
    withTypedArray: true,
    withSparseArray: true,
    withUnicodeString: true,
    maxDepth: 3,
  } as never);
  // Chosen by name, because the generator would read them itself.
  const strangers: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(Object.entries(notData).filter(([name]) => !/50 MB|million/.test(name))),
    'a function': trap,
    'a symbol': Symbol('x'),
    'no prototype': Object.create(null),
    'a false AbortSignal': Object.create(AbortSignal.prototype),
    'a false AbortSignal in options': { signal: Object.create(AbortSignal.prototype) },
    'no text': { toString: trap, valueOf: trap },
  };
  class Stranger {
    constructor(readonly name: string) {}
  }
  class Options {
    constructor(readonly members: readonly (readonly [string, unknown])[]) {}
  }
  const strange = fc.constantFrom(...Object.keys(strangers)).map((name) => new Stranger(name));
  const met = (given: unknown): unknown => (given instanceof Stranger ? strangers[given.name] : given);
  const metWithin = (given: unknown): unknown =>
    given instanceof Options
      ? Object.fromEntries(given.members.map(([key, member]) => [key, met(member)]))
      : met(given);
  const keys = fc.constantFrom(
    ...'image goal args id name labels owner budget cwd deadlineMs env delegate capabilities mode view timeoutMs signal tree reason payload graceMs result message exitCode tokens depth limit after status resource rights constraints pid types done type tags sources immutable namespace version ifVersion relation direction text order tokensMax query decision by scope roots object'.split(
      ' ',
    ),
  );
  const value = fc.oneof(
    anything,
    strange,
    fc.array(fc.tuple(keys, fc.oneof(anything, strange)), { maxLength: 3 }).map((members) => new Options(members)),
  );

  const counted =
    'processes accounts capabilities objects user_signals messages object_versions view_entries links approvals';

  const groups = { processes, capabilities, approvals, memory, audit, events, others };
  for (const [group, methods] of Object.entries(groups)) {
    it(`of ${group} is taken or refused with a KernelError, and a refusal changes nothing`, async () => {
      const { kernel, path, live, ended } = await populatedFixture();
      const object = await kernel.memory.create(live, { type: 'claim', payload: 1, immutable: false });
      await using tables = new RawTables(path);
      const rows = () => Promise.all(counted.split(' ').map((table) => tables.count(table)));
      const known = [ended, 'p_none', '', 'kill', 'tool:x', 'read', 1];
      if (group === 'memory') known.push(live, live, object.id, 'claim', 'supports');
      const argument = fc.oneof(value, fc.constantFrom(...known));
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...methods),
          fc.array(argument, { maxLength: 4 }),
          async ([name, call], args) => {
            const before = await rows();
            const refusal = await refusalOf(() => call(kernel, args.map(metWithin)));
            if (refusal === undefined) return;
            if (!(refusal instanceof KernelError)) throw new Error(`${name} threw`, { cause: refusal });
            expect(refusal.hint).not.toBe('');
            expect(await rows()).toEqual(before);
          },
        ),
        { numRuns: group === 'processes' || group === 'memory' ? 400 : 150, seed: 7 },
      );
      expect(({} as { polluted?: unknown }).polluted).toBe(undefined);
      await checkInvariants(kernel, path);
    });
  }
});

/** The error of a call, or of the first step of an iterable. An iterable that waits counts as accepted. */
async function refusalOf(call: () => unknown): Promise<unknown> {
  try {
    const returned = await call();
    if (typeof returned !== 'object' || returned === null || !(Symbol.asyncIterator in returned)) return undefined;
    const first = (returned as AsyncIterable<unknown>)[Symbol.asyncIterator]().next();
    const soon = new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.race([first, soon]);
    return undefined;
  } catch (error) {
    return error ?? 'nothing';
  }
}
