import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { matches, parsePattern, parseRequest, resourceKinds } from '../../../src/capability/resource/resource.js';
import { rightsOfKind } from '../../../src/capability/resource/rights.js';
import {
  type CapabilitySpec,
  type JsonObject,
  type Kernel,
  KernelError,
  type Pid,
  type RuleSpec,
} from '../../../src/index.js';
import { assertHintAllows, codeOfEveryCall } from '../../support/capability/agreeing-decisions.js';
import { grants, kind, type Use, uses, usesOf } from '../../support/capability/arbitrary-specs.js';
import { worldPlans } from '../../support/capability/arbitrary-worlds.js';
import { badFields } from '../../support/capability/bad-fields.js';
import { buildWorld } from '../../support/capability/random-worlds.js';
import { makeFiles, poolOf } from '../../support/capability/resource-pools.js';
import { WorldStore } from '../../support/capability/world-store.js';
import { refusal, tempFolder } from '../../support/kernel.js';
import { kernelFixture, manualClock } from '../../support/kernel-fixture.js';
import { pick } from '../../support/pick.js';
import { runsOnStore, seeded } from '../../support/seeded.js';

const start = Date.UTC(2030, 0, 1);

vi.setConfig({ testTimeout: 120_000 });

/** The last four of what must always be true of capabilities. */
describe('5: deny wins', () => {
  const cases = kind.chain((of) => {
    const rule = fc.record({
      resource: fc.constantFrom(...poolOf(of).patterns),
      rights: fc.subarray([...rightsOfKind(of)], { minLength: 1 }),
    });
    const bound = fc.constantFrom('itself' as const, 'above' as const, 'all' as const);
    return fc.record({
      of: fc.constant(of),
      given: fc.array(grants(of, start), { minLength: 1, maxLength: 4 }),
      denies: fc.array(fc.record({ rule, bound }), { minLength: 1, maxLength: 2 }),
      asks: fc.array(rule, { maxLength: 2 }),
      order: fc.array(fc.nat(99), { minLength: 8, maxLength: 8 }),
    });
  });

  it('whatever the order in which rules and capabilities came, and however narrow the capability is', async () => {
    const { kernel } = await kernelFixture({ clock: manualClock(start) });
    const { capabilities, processes } = kernel;
    let denied = 0;
    await fc.assert(
      fc.asyncProperty(cases, async ({ of, given, denies, asks, order }) => {
        const changes: ((pid: Pid, above: Pid) => Promise<unknown>)[] = [
          ...given.map((spec) => (pid: Pid) => capabilities.grant(pid, spec)),
          ...asks.map((rule) => (pid: Pid) => capabilities.ask(pid, rule)),
          ...denies.map(({ rule, bound }) => (pid: Pid, above: Pid) => {
            return capabilities.deny({ itself: pid, above, all: '*' }[bound], rule);
          }),
        ];
        const shuffled = changes
          .map((change, index) => ({ change, place: order[index] ?? 0 }))
          .sort((a, b) => a.place - b.place);
        const pids: Pid[] = [];
        for (const one of [changes, shuffled.map(({ change }) => change)]) {
          const above = await processes.spawn({ image: 'worker' });
          const pid = await processes.spawnChild(above, {});
          pids.push(pid);
          for (const change of one) await change(pid, above);
        }
        for (const use of usesOf(of)) {
          const [first, second] = await codesOf(kernel, pids, use);
          expect(second).toBe(first);
          const isDenied = denies.some(({ rule }) => isAbout(rule, use));
          expect(first === 'DENY_RULE').toBe(isDenied);
          if (isDenied) denied++;
        }
        for (const { id, effect } of await capabilities.rules()) if (effect === 'deny') await capabilities.lift(id);
        for (const use of usesOf(of)) expect(await codesOf(kernel, pids, use)).not.toContain('DENY_RULE');
        for (const { id } of await capabilities.rules()) await capabilities.lift(id);
      }),
      seeded({ numRuns: runsOnStore(25) }),
    );
    expect(denied).toBeGreaterThan(runsOnStore(100));
  });

  it('also over what a person has approved, before or after', async () => {
    const { kernel } = await kernelFixture();
    const scope = fc.constantFrom('args' as const, 'resource' as const, 'tree' as const);
    await fc.assert(
      fc.asyncProperty(uses('tool'), scope, fc.boolean(), async (drawn, how, isBefore) => {
        const use: Use = { ...drawn, right: 'call' };
        const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:**', rights: ['call'] }] });
        await kernel.capabilities.ask(pid, { resource: 'tool:**', rights: ['call'] });
        const { facts } = await refusal(require(kernel, pid, use));
        const deny = () => kernel.capabilities.deny(pid, { resource: use.resource, rights: ['call'] });
        if (isBefore) await deny();
        const { approval = '' } = facts as { approval?: string };
        await kernel.approvals.answer(approval, { decision: 'always', by: 'somebody', scope: how });
        if (!isBefore) expect(await codesOf(kernel, [pid], use)).toEqual(['ALLOWED']);
        if (!isBefore) await deny();
        expect(await codesOf(kernel, [pid], use)).toEqual(['DENY_RULE']);
        expect((await refusal(require(kernel, pid, use))).code).toBe('CAPABILITY_DENIED');
      }),
      seeded({ numRuns: runsOnStore(30) }),
    );
  });
});

describe('6: what is not understood is refused', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: true,
    withObjectString: true,
    withTypedArray: true,
    withSparseArray: true,
  });

  const notData = fc.oneof(
    fc.bigInt(),
    fc.date(),
    fc.func(fc.nat()),
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Symbol('s'), '\ud800', new Map([['q', 1]]), new Set(), /x/),
    fc.uint8Array(),
    fc.sparseArray(fc.nat(), { maxNumElements: 1, noTrailingHole: false }).filter((items) => items.length > 1),
  );
  const notJson = fc.oneof(
    notData,
    notData.map((value) => ({ q: value })),
    notData.map((value) => ({ q: [1, { r: value }] })),
    fc.constant(JSON.parse('{"__proto__": {"q": 1}}')),
  );

  it('whatever is asked: a check answers and allows nothing, require throws our errors only', async () => {
    const { kernel } = await kernelFixture();
    const everything = resourceKinds.map((of): CapabilitySpec => ({ resource: `${of}:**`, rights: rightsOfKind(of) }));
    const pid = await kernel.processes.spawn({ image: 'worker', capabilities: everything });
    const asked = fc.oneof(
      fc.tuple(fc.constant(pid), fc.constant('call'), fc.constant('tool:a'), notJson),
      fc.tuple(fc.constant(pid), anything, anything, fc.constant({})),
      fc.tuple(fc.constant(pid), fc.string(), fc.constantFrom('tool:a', 'fs:a', 'net:a.com/80'), fc.constant({})),
      fc.tuple(fc.constant(pid), fc.constantFrom('call', 'read'), fc.string({ unit: 'binary' }), fc.constant({})),
      fc.tuple(fc.constant(pid), fc.constantFrom('call', 'read'), patterns(), fc.constant({})),
      fc.tuple(anything, fc.constant('call'), fc.constant('tool:a'), fc.constant({})),
    );
    await fc.assert(
      fc.asyncProperty(asked, async (given) => {
        const [who, right, resource, args] = given as Parameters<Kernel['capabilities']['check']>;
        const decision = await kernel.capabilities.check(who, right, resource, args);
        expect(decision.effect).toBe('deny');
        const explanation = await kernel.capabilities.explain(who, right, resource, args);
        expect(explanation).toMatchObject({ effect: 'deny', code: decision.code });
        expect([decision.reason, explanation.hint]).not.toContain('');
        expect((await refusal(kernel.capabilities.require(who, right, resource, args))).code).toBeDefined();
      }),
      seeded({ numRuns: runsOnStore(500) }),
    );
  });

  it('whatever is granted, forbidden or handed on: one bad field refuses all of it and is named', async () => {
    const { kernel } = await kernelFixture();
    const { capabilities } = kernel;
    const good: CapabilitySpec = { resource: 'tool:a', rights: ['call'], delegable: true };
    const pid = await kernel.processes.spawn({ image: 'worker', capabilities: [good] });
    const taker = await kernel.processes.spawn({});
    const before = [await capabilities.list(pid), await capabilities.list(taker), await capabilities.rules()];
    await fc.assert(
      fc.asyncProperty(badFields, async ([field, value]) => {
        const spec = { ...good, [field]: value } as CapabilitySpec;
        const calls = [
          () => capabilities.grant(pid, spec),
          () => capabilities.delegate(pid, taker, spec),
          () => capabilities.derive(pid, spec),
          () => kernel.processes.spawnChild(pid, { delegate: [spec] }),
          () => kernel.processes.spawn({ capabilities: [spec] }),
          ...(field === 'resource' || field === 'rights' || field === 'expiresAt'
            ? [() => capabilities.deny(pid, { resource: 'tool:a', rights: ['call'], [field]: value } as RuleSpec)]
            : []),
        ];
        for (const call of calls) {
          const { code, facts } = await refusal(call());
          expect(code).toBe('INVALID_INPUT');
          expect((facts as { path: string }).path).toContain(field);
        }
        const after = [await capabilities.list(pid), await capabilities.list(taker), await capabilities.rules()];
        expect(after).toEqual(before);
      }),
      seeded({ numRuns: runsOnStore(100) }),
    );
  });

  it('whoever has ended holds nothing, gives nothing and gets nothing', async () => {
    const { kernel } = await kernelFixture();
    const { capabilities, processes } = kernel;
    const spec: CapabilitySpec = { resource: 'tool:**', rights: ['call'], delegable: true };
    const end = fc.constantFrom('exit', 'fail', 'kill', 'cancel', 'parent');
    await fc.assert(
      fc.asyncProperty(uses('tool'), end, async (use, how) => {
        const parent = await processes.spawn({ image: 'worker', capabilities: [spec] });
        const pid = await processes.spawnChild(parent, { image: 'worker', delegate: [spec] });
        const other = await processes.spawn({ capabilities: [spec] });
        const [before] = await codesOf(kernel, [pid], use);
        expect(before).toBe('ALLOWED');
        if (how === 'exit' || how === 'fail') await processes.exit(pid, { failed: how === 'fail' });
        if (how === 'kill') await processes.kill(pid);
        if (how === 'cancel') await processes.cancel(pid);
        if (how === 'parent') await processes.exit(parent);
        expect(await codesOf(kernel, [pid], use)).toEqual(['PROCESS_ENDED']);
        expect(await capabilities.list(pid)).toEqual([]);
        expect((await refusal(require(kernel, pid, use))).code).toBe('CAPABILITY_DENIED');
        const calls = [
          () => capabilities.grant(pid, spec),
          () => capabilities.delegate(pid, other, spec),
          () => capabilities.delegate(other, pid, spec),
          () => capabilities.derive(pid, spec),
        ];
        for (const call of calls) expect((await refusal(call())).code).toBe('PROCESS_TERMINATED');
      }),
      seeded({ numRuns: runsOnStore(25) }),
    );
  });
});

describe('7: what is decided is what was given', () => {
  const json = fc.jsonValue({ maxDepth: 3 });
  const object: fc.Arbitrary<JsonObject> = fc
    .dictionary(
      fc.string({ minLength: 1 }).filter((key) => key !== '__proto__'),
      json,
      { minKeys: 1, maxKeys: 4 },
    )
    .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);

  it('arguments are copied as the call begins: what becomes of them afterwards changes no decision', async () => {
    const { kernel } = await kernelFixture();
    const constraints = { q: { eq: 1 }, 'r.s': { subset: [1] } } as const;
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:a', rights: ['call'], constraints }] });
    const ask = fc.constantFrom('check' as const, 'require' as const, 'explain' as const);
    await fc.assert(
      fc.asyncProperty(ask, fc.boolean(), async (how, isGood) => {
        const given = { q: isGood ? 1 : 2, r: { s: [1] } };
        const call = kernel.capabilities[how](pid, 'call', 'tool:a', given);
        given.q = isGood ? 2 : 1;
        given.r.s.push(2);
        const decided = await call.catch((error: unknown) => error);
        const code = decided instanceof KernelError ? decided.facts.code : (decided as { code: string }).code;
        expect(code).toBe(isGood ? 'ALLOWED' : 'CONSTRAINT');
      }),
      seeded({ numRuns: runsOnStore(30) }),
    );
  });

  it('what a person is asked about is that copy, and the answer is for nothing else', async () => {
    const { kernel } = await kernelFixture();
    await fc.assert(
      fc.asyncProperty(object, object, async (given, other) => {
        const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:a', rights: ['call'] }] });
        await kernel.capabilities.ask(pid, { resource: 'tool:a', rights: ['call'] });
        const [as, isOther] = [structuredClone(given), JSON.stringify(sorted(given)) !== JSON.stringify(sorted(other))];
        const call = kernel.capabilities.require(pid, 'call', 'tool:a', given);
        for (const key of Object.keys(given)) (given as Record<string, unknown>)[key] = 'changed';
        const { facts } = await refusal(call);
        const { approval = '' } = facts as { approval?: string };
        expect((await kernel.approvals.get(approval)).args).toEqual(as);
        await kernel.approvals.answer(approval, { decision: 'once', by: 'somebody' });
        const codeFor = async (args: JsonObject) => (await kernel.capabilities.check(pid, 'call', 'tool:a', args)).code;
        if (isOther) expect(await codeFor(other)).toBe('ASK');
        // The order of members is no part of a value.
        const reversed = Object.fromEntries(Object.entries(as).reverse());
        expect(await codeFor(reversed)).toBe('ALLOWED');
        await kernel.capabilities.require(pid, 'call', 'tool:a', reversed);
        expect(await codeFor(as)).toBe('ASK');
      }),
      seeded({ numRuns: runsOnStore(60) }),
    );
  });

  it('what could answer differently the second time is refused without being asked once', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:a', rights: ['call'] }] });
    let touched = 0;
    const touch = () => ++touched;
    const traps = Object.fromEntries(Object.getOwnPropertyNames(Reflect).map((trap) => [trap, touch]));
    const sly: readonly ((value: JsonObject) => unknown)[] = [
      (value) => new Proxy(value, traps),
      (value) => Object.defineProperty(value, 'q', { get: touch, enumerable: true, configurable: true }),
      (value) => Object.defineProperty([value], 0, { get: touch }),
      (value) => Object.assign(Object.create({ toJSON: touch, q: 1 }), value),
      (value) => Object.assign(new Map([['q', touch]]), value),
    ];
    await fc.assert(
      fc.asyncProperty(object, fc.nat(sly.length - 1), fc.boolean(), async (value, which, isDeep) => {
        const made = pick(sly, which)(value);
        const args = (isDeep ? { a: { b: [made] } } : made) as JsonObject;
        expect((await kernel.capabilities.check(pid, 'call', 'tool:a', args)).code).toBe('BAD_REQUEST');
        expect((await refusal(kernel.capabilities.require(pid, 'call', 'tool:a', args))).code).toBe('INVALID_INPUT');
        expect(touched).toBe(0);
      }),
      seeded({ numRuns: runsOnStore(60) }),
    );
  });
});

describe('8: every decision can be explained', () => {
  it('by the same decision, with its reason, and as the effect itself is decided', async () => {
    const workspace = tempFolder();
    makeFiles(workspace, tempFolder());
    const { kernel } = await kernelFixture({ clock: manualClock(start), workspace });
    const worlds = new WorldStore(kernel);
    const codes = new Set<string>();
    let number = 0;
    await fc.assert(
      fc.asyncProperty(worldPlans(24), async (plan) => {
        const world = buildWorld(plan, { number: ++number, now: start, workspace, foldsCase: false });
        await worlds.put(world);
        for (const asked of world.questions) codes.add(await codeOfEveryCall(kernel, asked));
        await assertHintAllows(kernel, world.questions);
      }),
      seeded({ numRuns: 60 }),
    );
    expect([...codes].sort()).toEqual(
      [
        ...['ALLOWED', 'ASK', 'CONSTRAINT', 'DENY_RULE', 'EXPIRED'],
        ...['KIN', 'NO_CAPABILITY', 'PROCESS_ENDED', 'REVOKED', 'SPENT'],
      ].sort(),
    );
  });
});

function patterns(): fc.Arbitrary<string> {
  const wild = resourceKinds.flatMap((of) => poolOf(of).patterns).filter((text) => text.includes('*'));
  return fc.constantFrom(...wild);
}

function isAbout(rule: Pick<RuleSpec, 'resource' | 'rights'>, { right, resource }: Use): boolean {
  return rule.rights.includes(right) && matches(parsePattern(rule.resource), parseRequest(resource));
}

function codesOf({ capabilities }: Kernel, pids: readonly Pid[], { right, resource, args }: Use): Promise<string[]> {
  return Promise.all(pids.map(async (pid) => (await capabilities.check(pid, right, resource, args)).code));
}

function require({ capabilities }: Kernel, pid: Pid, { right, resource, args }: Use) {
  return capabilities.require(pid, right, resource, args);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, one]) => [key, sorted(one)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}
