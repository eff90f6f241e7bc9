import { describe, expect, it } from 'vitest';
import type { CapabilitySpec, ObjectHandle, Pid } from '../../../src/index.js';
import { checkInvariants } from '../../support/invariants.js';
import { type KernelFixture, kernelFixture } from '../../support/kernel-fixture.js';

/** An object of a process that has ended, which the host can give to read; a handle needs a capability beside it. */
interface Lending extends KernelFixture {
  readonly object: ObjectHandle;
  readonly resource: string;
  readonly parent: Pid;
  readonly child: Pid;
  /** All capabilities that it was ever given on the object, without their ids and origins. */
  readings(pid: Pid): Promise<object[]>;
  /** The number of times that the object can be read, up to `most`. */
  readable(pid: Pid, most: number): Promise<number>;
}

const lent = { rights: ['read'], delegable: true } as const;

async function lending(limits: Partial<CapabilitySpec> = {}, to: 'parent' | 'child' = 'child'): Promise<Lending> {
  const set = await kernelFixture();
  const { kernel } = set;
  const owner = await kernel.processes.spawn({});
  await kernel.processes.exit(owner, { result: 'lent' });
  const { result: object } = await kernel.processes.result(owner);
  if (object === undefined) throw new Error('there is no result');
  const resource = `object:${object.id}`;
  const parent = await kernel.processes.spawn({ image: 'worker' });
  const child = await kernel.processes.spawnChild(parent, { image: 'worker' });
  await kernel.capabilities.grant(to === 'child' ? child : parent, { ...lent, resource, ...limits });
  return {
    ...set,
    object,
    resource,
    parent,
    child,
    readings: async (pid) => {
      const held = (await kernel.capabilities.list(pid, { status: 'any' })).filter((one) => one.resource === resource);
      return held.map(({ rights, uses, expiresAt, depth, delegable, status }) => {
        return { rights, uses, expiresAt, depth, delegable, status };
      });
    },
    readable: async (pid, most) => {
      for (let times = 0; times < most; times++) {
        const isRead = await kernel.memory.read(pid, object).then(
          () => true,
          () => false,
        );
        if (!isRead) return times;
      }
      return most;
    },
  };
}

const reading = { rights: ['read'], expiresAt: undefined, depth: 0, delegable: false, status: 'live' };

describe('a result that is not the process’s own', () => {
  it('is read by the parent as often as the process still could, and no more', async () => {
    for (const [uses, before, left] of [
      [1, 0, 1],
      [3, 1, 2],
    ] as const) {
      const { kernel, path, object, parent, child, readings, readable } = await lending({ uses });
      expect(await readable(child, before)).toBe(before);
      await kernel.processes.exit(child, { result: object });
      expect(await readings(parent)).toEqual([{ ...reading, uses: left }]);
      const result = await kernel.processes.wait(parent, child);
      expect([result.result?.id, 'value' in result]).toEqual([object.id, false]);
      expect(await readable(parent, 5)).toBe(left);
      expect(await readings(parent)).toEqual([{ ...reading, uses: 0, status: 'spent' }]);
      await checkInvariants(kernel, path);
    }
  });

  it('takes its uses from what the parent itself gave', async () => {
    const set = await lending({ uses: 2 }, 'parent');
    const { kernel, object, resource, parent, child, readings, readable } = set;
    await kernel.capabilities.delegate(parent, child, { ...lent, resource });
    await kernel.processes.exit(child, { result: object });
    expect(await readings(parent)).toEqual([
      { ...reading, uses: 2, delegable: true, rights: ['read', 'grant'] },
      { ...reading, uses: 2, depth: 1 },
    ]);
    expect(await readable(parent, 5)).toBe(2);
  });

  it('leaves nothing to those that the process had lent it to', async () => {
    const { kernel, object, resource, parent, child, readable } = await lending({ uses: 1 });
    const other = await kernel.processes.spawn({});
    await kernel.capabilities.delegate(child, other, { rights: ['read'], resource });
    await kernel.processes.exit(child, { result: object });
    expect([await readable(other, 1), await readable(parent, 2)]).toEqual([0, 1]);
  });

  it('is refused when nothing of it is left, or it may not be handed on', async () => {
    const spent = await lending({ uses: 1 });
    await spent.readable(spent.child, 1);
    const own = await lending({ delegable: false });
    for (const { kernel, object, child, refused } of [spent, own]) {
      const exit = () => kernel.processes.exit(child, { result: object });
      expect(await refused(exit)).toEqual({ code: 'NO_SUCH_OBJECT', facts: { object: object.id } });
    }
  });

  it('is refused at the end of its chain', async () => {
    const { kernel, object, child, refused } = await lending({ maxDepth: 0 });
    const answer = await refused(() => kernel.processes.exit(child, { result: object }));
    expect(answer).toMatchObject({ code: 'AMPLIFICATION', facts: { field: 'maxDepth', from: child, maxDepth: 0 } });
  });

  it.each(['deny', 'ask'] as const)(
    'is refused where a rule to %s binds the process and not the parent',
    async (effect) => {
      const { kernel, object, resource, child, refused } = await lending();
      await kernel.capabilities[effect](child, { resource, rights: ['read'] });
      const { code } = await refused(() => kernel.processes.exit(child, { result: object }));
      expect(code).toBe(effect === 'deny' ? 'NO_SUCH_OBJECT' : 'CAPABILITY_DENIED');
    },
  );
});

describe('a goal that is given as a handle', () => {
  it.each(['spawnChild', 'fork'] as const)('is read as often as the giver could, together with it: %s', async (way) => {
    for (const reader of ['giver', 'child']) {
      const { kernel, path, object, child: giver, readings, readable } = await lending({ uses: 2 });
      const child = await kernel.processes[way](giver, { goal: object });
      expect(await readings(child)).toEqual([{ ...reading, uses: 2, depth: 1 }]);
      const first = reader === 'giver' ? giver : child;
      expect([await readable(first, 5), await readable(child, 5), await readable(giver, 5)]).toEqual([2, 0, 0]);
      await checkInvariants(kernel, path);
    }
  });

  it.each(['spawnChild', 'fork'] as const)('expires with the giver’s and is not handed on: %s', async (way) => {
    const expiresAt = Date.now() + 3_600_000;
    const { kernel, object, child: giver, readings, refused } = await lending({ expiresAt });
    const child = await kernel.processes[way](giver, { goal: object });
    expect(await readings(child)).toEqual([{ ...reading, uses: undefined, expiresAt, depth: 1 }]);
    expect((await refused(() => kernel.processes.spawnChild(child, { goal: object }))).code).toBe('NO_SUCH_OBJECT');
    expect((await refused(() => kernel.processes.exit(child, { result: object }))).code).toBe('NO_SUCH_OBJECT');
  });

  it.each(['spawnChild', 'fork'] as const)('is refused at the end of its chain: %s', async (way) => {
    const { kernel, object, child: giver, refused } = await lending({ maxDepth: 0 });
    const answer = await refused(() => kernel.processes[way](giver, { goal: object }));
    expect(answer).toMatchObject({ code: 'AMPLIFICATION', facts: { field: 'maxDepth', from: giver } });
  });

  it.each(['spawnChild', 'fork'] as const)('is refused where a rule forbids to hand it on: %s', async (way) => {
    // What was stated under `delegate` was held against the rule, and the goal was not.
    const { kernel, object, resource, child: giver, refused } = await lending();
    const rule = await kernel.capabilities.deny(giver, { resource, rights: ['grant'] });
    const facts = { pid: giver, right: 'grant', resource, code: 'DENY_RULE' };
    expect(await refused(() => kernel.processes[way](giver, { goal: object }))).toEqual({
      code: 'CAPABILITY_DENIED',
      facts: { ...facts, denies: [rule.id] },
    });
    expect(await refused(() => kernel.as(giver)[way]({ goal: object }))).toEqual({ code: 'CAPABILITY_DENIED', facts });
    expect(await kernel.processes[way](giver, { goal: 'its own' })).toBeDefined();
  });
});

describe('a goal that a process gives itself by exec', () => {
  it('is read as often as the process still could, and no more', async () => {
    const { kernel, path, object, child: pid, readings, readable } = await lending({ uses: 3 });
    expect(await readable(pid, 1)).toBe(1);
    await kernel.processes.exec(pid, { image: 'worker', goal: object });
    expect(await readings(pid)).toEqual([
      { ...reading, uses: 2, delegable: true, rights: ['read', 'grant'], status: 'ended' },
      { ...reading, uses: 2 },
    ]);
    expect(await readable(pid, 5)).toBe(2);
    await checkInvariants(kernel, path);
  });

  it('leaves what is preserved as it is', async () => {
    const { kernel, object, child: pid, readings, readable } = await lending({ uses: 2 });
    await kernel.processes.exec(pid, { image: 'worker', goal: object, preserveCapabilities: true });
    expect(await readings(pid)).toEqual([{ ...reading, uses: 2, delegable: true, rights: ['read', 'grant'] }]);
    expect(await readable(pid, 5)).toBe(2);
  });

  it('takes its uses from what stands above', async () => {
    const set = await lending({ uses: 2 }, 'parent');
    const { kernel, object, resource, parent, child, readable } = set;
    await kernel.capabilities.delegate(parent, child, { ...lent, resource });
    await kernel.processes.exec(child, { image: 'worker', goal: object });
    expect([await readable(parent, 1), await readable(child, 5), await readable(parent, 5)]).toEqual([1, 1, 0]);
  });

  it('cannot be given again, since it is not handed on', async () => {
    const { kernel, object, child: pid, refused } = await lending({ uses: 1 });
    await kernel.processes.exec(pid, { image: 'worker', goal: object });
    const again = () => kernel.processes.exec(pid, { image: 'worker', goal: object });
    expect(await refused(again)).toEqual({ code: 'NO_SUCH_OBJECT', facts: { object: object.id } });
  });
});
