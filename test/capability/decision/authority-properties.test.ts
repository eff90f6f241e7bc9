import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { CapabilitySpec, DelegationSpec, Kernel, Pid, Right } from '../../../src/index.js';
import { KernelError } from '../../../src/index.js';
import { attempt } from '../../support/attempt.js';
import { delegations, grants, kind, type Use, uses, usesOf } from '../../support/capability/arbitrary-specs.js';
import { CapabilityTree } from '../../support/capability/capability-tree.js';
import {
  allowsHandingOn,
  allowsUse,
  widerGrantedFields,
  widerStatedFields,
} from '../../support/capability/widened-fields.js';
import { checkInvariants } from '../../support/invariants.js';
import { kernelFixture, manualClock } from '../../support/kernel-fixture.js';
import { pick } from '../../support/pick.js';
import { runsOnStore, seeded } from '../../support/seeded.js';

const start = Date.UTC(2030, 0, 1);

vi.setConfig({ testTimeout: 120_000 });

/** The first four of what must always be true of capabilities. */
describe('1: there is no ambient authority', () => {
  const cases = kind.chain((of) =>
    fc.record({
      given: fc.array(grants(of, start), { maxLength: 4 }),
      wanted: fc.array(uses(of), { minLength: 10, maxLength: 10 }),
    }),
  );

  it('what is allowed is allowed by a live capability that the process holds, and to others it is not', async () => {
    const { kernel } = await kernelFixture({ clock: manualClock(start) });
    let allowed = 0;
    await fc.assert(
      fc.asyncProperty(cases, async ({ given, wanted }) => {
        const holder = await kernel.processes.spawn({ image: 'worker', capabilities: given });
        const child = await kernel.processes.spawnChild(holder, {});
        for (const use of wanted) {
          const { effect, capability } = await check(kernel, holder, use);
          expect(await check(kernel, child, use)).toMatchObject({ effect: 'deny', code: 'NO_CAPABILITY' });
          if (effect !== 'allow') continue;
          allowed++;
          const by = await kernel.capabilities.get(capability ?? '');
          expect(by).toMatchObject({ holder, status: 'live' });
          expect(allowsUse(by, use)).toBe(true);
        }
      }),
      seeded({ numRuns: runsOnStore(100) }),
    );
    expect(allowed).toBeGreaterThan(runsOnStore(50));
  });

  it('a process has its own namespace and its family, and neither goes any further', async () => {
    const { kernel } = await kernelFixture();
    const place = fc.constantFrom('x', 'x/y', 'x/y/z');
    await fc.assert(
      fc.asyncProperty(
        place,
        fc.constantFrom<Right[]>('read', 'write', 'create', 'delete', 'list'),
        async (at, right) => {
          const parent = await kernel.processes.spawn({ image: 'worker' });
          const child = await kernel.processes.fork(parent, {});
          const stranger = await kernel.processes.spawn({});
          const codes = (pids: readonly Pid[], of: Right, resource: string) =>
            Promise.all(pids.map(async (pid) => (await kernel.capabilities.check(pid, of, resource)).code));
          const all = [parent, child, stranger];
          const none = 'NO_CAPABILITY';
          expect(await codes(all, right, `ns:process/${child}/${at}`)).toEqual([none, 'ALLOWED', none]);
          expect(await codes(all, 'signal', `process:${child}`)).toEqual(['KIN', none, none]);
          expect(await codes(all, 'send', `process:${parent}`)).toEqual([none, 'KIN', none]);
        },
      ),
      seeded({ numRuns: 20 }),
    );
  });
});

describe('2: what is handed on is never wider', () => {
  const cases = kind.chain((of) =>
    grants(of, start, 1).chain((parent) =>
      fc.record({
        parent: fc.constant(parent),
        child: delegations(of, parent, start),
        manner: fc.constantFrom('delegate' as const, 'derive' as const),
        of: fc.constant(of),
      }),
    ),
  );

  it('in any field, and a refusal names one in which it would be', async () => {
    const { kernel, path } = await kernelFixture({ clock: manualClock(start) });
    const count = { given: 0, refused: new Map<unknown, number>() };
    await fc.assert(
      fc.asyncProperty(cases, async ({ of, parent, child, manner }) => {
        const giver = await kernel.processes.spawn({ image: 'worker' });
        const taker = await kernel.processes.spawn({});
        const from = await kernel.capabilities.grant(giver, parent);
        const stated = { ...child, from: from.id };
        const call =
          manner === 'derive'
            ? kernel.capabilities.derive(giver, stated)
            : kernel.capabilities.delegate(giver, taker, stated);
        const beyond = widerStatedFields(from, child, manner);
        try {
          expect(widerGrantedFields(from, await call, manner, usesOf(of))).toEqual([]);
          expect(beyond).toEqual([]);
          count.given++;
        } catch (error) {
          if (!(error instanceof KernelError)) throw error;
          const { field } = error.facts;
          expect(error.code).toBe('AMPLIFICATION');
          expect([...beyond, ...(child.constraints === undefined ? [] : ['constraints'])]).toContain(field);
          count.refused.set(field, (count.refused.get(field) ?? 0) + 1);
          expect(await kernel.capabilities.list(taker)).toHaveLength(1);
        }
      }),
      seeded({ numRuns: runsOnStore(400) }),
    );
    expect(count.given).toBeGreaterThan(runsOnStore(40));
    const fields = ['resource', 'rights', 'grantable', 'constraints', 'uses', 'expiresAt', 'maxDepth'];
    expect(fields.filter((field) => !count.refused.has(field))).toEqual([]);
    await checkInvariants(kernel, path);
  });
});

describe('3: a set of processes cannot make authority', () => {
  const step = fc.record({
    deed: fc.constantFrom(
      'delegate',
      'give',
      'give',
      'derive',
      'spawn',
      'spawn',
      'fork',
      'transfer',
      'exec',
      'exit',
      'revoke',
    ),
    from: fc.nat(9),
    to: fc.nat(9),
    what: fc.nat(9),
  });
  const cases = kind.chain((of) =>
    fc.record({
      of: fc.constant(of),
      given: fc.array(fc.array(grants(of, start), { maxLength: 2 }), { minLength: 2, maxLength: 3 }),
      wished: fc.array(grants(of, start), { minLength: 8, maxLength: 8 }),
      steps: fc.array(step, { maxLength: 12, size: 'max' }),
    }),
  );

  it('nothing is allowed to anybody that nobody could do or hand on before', async () => {
    const { kernel, path } = await kernelFixture({ clock: manualClock(start) });
    let gained = 0;
    await fc.assert(
      fc.asyncProperty(cases, async ({ of, given, wished, steps }) => {
        const pids: Pid[] = [];
        for (const capabilities of given) pids.push(await kernel.processes.spawn({ image: 'worker', capabilities }));
        const before = (await Promise.all(pids.map((pid) => kernel.capabilities.list(pid)))).flat();
        const could = usesOf(of).map((use) => before.some((one) => allowsUse(one, use) || allowsHandingOn(one, use)));
        const own = await powers(kernel, pids, of);
        for (const one of steps) await attempt(act(kernel, pids, one, pick(wished, one.what)));
        const after = await powers(kernel, pids, of);
        expect(after.filter((power, index) => power && could[index] === false)).toEqual([]);
        gained += after.filter((power, index) => power && own[index] === false).length;
      }),
      seeded({ numRuns: runsOnStore(60) }),
    );
    // What could be handed on and not used was used by somebody, so there was something to gain.
    expect(gained).toBeGreaterThan(0);
    await checkInvariants(kernel, path);
  });

  it('handing on does not multiply uses, whoever takes them in whatever order', async () => {
    const { kernel, path } = await kernelFixture();
    const limits = fc.integer({ min: 1, max: 4 });
    const plan = fc.record({
      granted: limits,
      below: fc.array(fc.record({ above: fc.nat(4), limit: fc.option(limits) }), { maxLength: 4 }),
      users: fc.array(fc.nat(4), { minLength: 6, maxLength: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ granted, below, users }) => {
        const pids = [await kernel.processes.spawn({ image: 'worker' })];
        const tool = { resource: 'tool:a', rights: ['call'], delegable: true } as const;
        const ids = [(await kernel.capabilities.grant(pick(pids, 0), { ...tool, uses: granted })).id];
        for (const { above, limit } of below) {
          const pid = await kernel.processes.spawn({ image: 'worker' });
          const spec = { ...tool, from: pick(ids, above), ...(limit === null ? {} : { uses: limit }) };
          const made = await attempt(kernel.capabilities.delegate(pick(pids, above), pid, spec));
          if (made === undefined) continue;
          ids.push(made.id);
          pids.push(pid);
        }
        const taken = await Promise.all(
          users.map((who) => attempt(kernel.capabilities.require(pick(pids, who), 'call', 'tool:a'))),
        );
        const used = taken.filter((decision) => decision !== undefined).length;
        expect(used).toBeLessThanOrEqual(granted);
        expect((await kernel.capabilities.get(pick(ids, 0))).uses).toBe(granted - used);
      }),
      seeded({ numRuns: runsOnStore(60) }),
    );
    await checkInvariants(kernel, path);
  });
});

describe('4: a capability lives while itself, its holder and every one above it live', () => {
  const death = fc.constantFrom('revoke', 'exit', 'exec', 'expire', 'spend');
  const plan = fc.record({
    above: fc.array(fc.nat(6), { minLength: 1, maxLength: 7, size: 'max' }),
    limits: fc.array(fc.constantFrom('none', 'none', 'uses', 'expiry'), { minLength: 8, maxLength: 8 }),
    deaths: fc.array(fc.record({ node: fc.nat(7), death }), { minLength: 1, maxLength: 3 }),
  });

  it('which is what checks and lists say, also after reopening', async () => {
    const clock = manualClock(start);
    const set = await kernelFixture({ clock });
    const trees: CapabilityTree[] = [];
    await fc.assert(
      fc.asyncProperty(plan, async ({ above, limits, deaths }) => {
        const tree = new CapabilityTree(set.kernel, clock);
        trees.push(tree);
        for (const [index, limit] of limits.slice(0, above.length + 1).entries()) {
          await tree.add(index === 0 ? null : pick(above, index - 1) % index, limit);
        }
        expect(await tree.actuallyLive(set.kernel)).toEqual(tree.expectedLive());
        for (const { node, death: how } of deaths) await tree.kill(node, how);
        expect(await tree.actuallyLive(set.kernel)).toEqual(tree.expectedLive());
      }),
      seeded({ numRuns: runsOnStore(80) }),
    );
    await set.kernel.shutdown();
    const { kernel } = await kernelFixture({ store: set.path, clock });
    for (const tree of trees) expect(await tree.actuallyLive(kernel)).toEqual(tree.expectedLive());
    expect(trees.flatMap((tree) => tree.expectedLive()).filter(Boolean).length).toBeGreaterThan(20);
    await checkInvariants(kernel, set.path);
  });
});

function check({ capabilities }: Kernel, pid: Pid, { right, resource, args }: Use) {
  return capabilities.check(pid, right, resource, args);
}

/** Which of all uses somebody of `pids` may. */
async function powers(kernel: Kernel, pids: readonly Pid[], of: Parameters<typeof usesOf>[0]): Promise<boolean[]> {
  return Promise.all(
    usesOf(of).map(async (use) => {
      const decisions = await Promise.all(pids.map((pid) => check(kernel, pid, use)));
      return decisions.some(({ effect }) => effect === 'allow');
    }),
  );
}

type Deed = { readonly deed: string; readonly from: number; readonly to: number; readonly what: number };

async function act(kernel: Kernel, pids: Pid[], { deed, from: giver, to: taker, what }: Deed, wish: CapabilitySpec) {
  const [from, to] = [pick(pids, giver), pick(pids, taker)];
  const face = kernel.as(from);
  const held = (await kernel.capabilities.list(from)).filter(({ resource }) => !resource.startsWith('ns:'));
  const some = held[what % Math.max(1, held.length)];
  // A wish is mostly refused as it is, so every other time it is for what is there.
  const rights = (some?.grantable ?? some?.rights ?? []).filter((right) => right !== 'grant');
  const spec: DelegationSpec = some === undefined || what % 2 === 0 ? wish : { resource: some.resource, rights };
  if (deed === 'delegate') await face.capabilities.delegate(to, spec);
  if (deed === 'give') await kernel.capabilities.delegate(from, to, spec);
  if (deed === 'derive') await face.capabilities.derive(spec);
  if (deed === 'spawn') pids.push(await face.spawnChild({ image: 'worker', delegate: [spec] }));
  if (deed === 'fork') pids.push(await face.fork({}));
  if (deed === 'transfer' && some !== undefined) await kernel.capabilities.transfer(from, to, some.id);
  if (deed === 'exec') await face.exec({ image: 'worker', preserveCapabilities: true });
  if (deed === 'exit') await face.exit({ result: 'done' });
  if (deed === 'revoke' && some !== undefined) await face.capabilities.revoke(some.id);
}
