import { describe, expect, it } from 'vitest';
import type { Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel } from '../support/kernel.js';
import { kernelFixture, manualClock, outcomeOf, timedKernelFixture, worker } from '../support/kernel-fixture.js';
import { openRawTables } from '../support/storage/raw-tables.js';

const unlimited = { limit: null, used: 0, reserved: 0, left: null, overrun: 0, boundBy: null };
const badAmounts: readonly unknown[] = [
  -1,
  0.5,
  Number.NaN,
  1e308,
  Number.POSITIVE_INFINITY,
  '5',
  2 ** 63,
  5n,
  null,
  [],
];

describe('a budget', () => {
  it('shows for each dimension what is used, what is left, and the process whose limit applies', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { tokens: 10, toolCalls: 100 } });
    const child = await kernel.processes.spawnChild(root, { budget: { tokens: 50, toolCalls: 5 } });
    await kernel.processes.charge(child, { tokens: 4 });
    const { wallMs, ...report } = await kernel.processes.budget(child);
    expect(report).toEqual({
      toolCalls: { ...unlimited, limit: 5, left: 5, boundBy: child },
      tokens: { ...unlimited, limit: 50, used: 4, left: 6, boundBy: root },
      costMicros: unlimited,
      materializedTokens: unlimited,
      outputBytes: unlimited,
      storedBytes: unlimited,
      children: unlimited,
      depth: { ...unlimited, left: 63, boundBy: root },
    });
    expect(wallMs).toMatchObject({ limit: null, left: null, boundBy: null });
  });

  it('without limits is unlimited, except for depth', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    expect(await kernel.processes.charge(pid, { tokens: 1_000_000_000, outputBytes: 1 })).toMatchObject({
      tokens: { ...unlimited, used: 1_000_000_000 },
      outputBytes: { ...unlimited, used: 1 },
      depth: { limit: 64, left: 64 },
    });
  });

  it('of an unknown process is refused', async () => {
    const { kernel, refused } = await kernelFixture();
    expect((await refused(() => kernel.processes.budget('p_none'))).code).toBe('NO_SUCH_PROCESS');
  });
});

describe('charge', () => {
  it('goes to the process and to every process that it was spawned under', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { tokens: 10 } });
    const child = await kernel.processes.spawnChild(root, {});
    const below = await kernel.processes.spawnChild(child, {});
    await kernel.processes.charge(below, { tokens: 3, costMicros: 7 });
    await kernel.processes.charge(child, { tokens: 2 });
    const used = async (pid: Pid) => (await kernel.processes.get(pid)).used;
    const nothing = { toolCalls: 0, materializedTokens: 0, outputBytes: 0, storedBytes: 0 };
    expect(await used(below)).toEqual({ ...nothing, tokens: 3, costMicros: 7 });
    expect(await used(child)).toEqual({ ...nothing, tokens: 5, costMicros: 7 });
    expect(await used(root)).toEqual({ ...nothing, tokens: 5, costMicros: 7 });
    await checkInvariants(kernel, path);
  });

  it('goes to all accounts or none, and a refusal names the dimension and the process whose limit refused it', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { tokens: 100, costMicros: 5 } });
    const child = await kernel.processes.spawnChild(root, { budget: { tokens: 10 } });
    const below = await kernel.processes.spawnChild(child, { budget: { tokens: 50 } });
    await kernel.processes.charge(below, { tokens: 8 });
    expect(await refused(() => kernel.processes.charge(below, { tokens: 3, costMicros: 1 }))).toEqual({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'tokens', process: child, limit: 10, used: 8, reserved: 0, asked: 3 },
    });
    expect(await refused(() => kernel.processes.charge(below, { tokens: 1, costMicros: 6 }))).toMatchObject({
      facts: { dimension: 'costMicros', process: root, limit: 5, used: 0, asked: 6 },
    });
    await kernel.processes.charge(below, { tokens: 2, costMicros: 5 });
  });

  it('of nothing is fine when nothing is left, and zero means none', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ budget: { tokens: 0 } });
    await kernel.processes.charge(pid, {});
    await kernel.processes.charge(pid, { tokens: 0 });
    expect(await refused(() => kernel.processes.charge(pid, { tokens: 1 }))).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { limit: 0 },
    });
  });

  it('by many callers at once spends exactly the limit', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { toolCalls: 50 } });
    const children = await Promise.all(Array.from({ length: 4 }, () => kernel.processes.spawnChild(root, {})));
    const charges = Array.from({ length: 120 }, (_, index) =>
      kernel.processes.charge(children[index % 4] ?? root, { toolCalls: 1 }),
    );
    const outcomes = await Promise.allSettled(charges);
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(50);
    expect((await kernel.processes.budget(root)).toolCalls).toMatchObject({ used: 50, left: 0 });
    await checkInvariants(kernel, path);
  });

  it('by two kernels on one file spends exactly the limit', async () => {
    const { kernel, path } = await kernelFixture();
    const other = await openKernel({ store: path, node: { executor: false }, durability: 'normal', images: [worker] });
    const root = await kernel.processes.spawn({ budget: { toolCalls: 20 } });
    const charges = Array.from({ length: 60 }, (_, index) =>
      (index % 2 === 0 ? kernel : other).processes.charge(root, { toolCalls: 1 }),
    );
    const outcomes = await Promise.allSettled(charges);
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(20);
    await checkInvariants(kernel, path);
  });

  it('refuses invalid amounts', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    for (const amount of badAmounts) {
      const calls = [
        () => kernel.processes.charge(pid, { tokens: amount } as never),
        () => kernel.processes.reserve(pid, { tokens: amount } as never),
        () => kernel.processes.setBudget(pid, { tokens: amount } as never),
        () => kernel.processes.spawn({ budget: { tokens: amount } } as never),
        () => kernel.processes.spawn({ budget: { depth: amount } } as never),
        () => kernel.processes.spawn({ budget: { wallMs: amount } } as never),
        () => kernel.processes.spawn({ deadlineMs: amount } as never),
      ];
      for (const call of calls) expect([amount, (await refused(call)).code]).toEqual([amount, 'INVALID_INPUT']);
    }
    expect((await refused(() => kernel.processes.charge(pid, { children: 1 } as never))).code).toBe('INVALID_INPUT');
    expect((await refused(() => kernel.processes.charge('p_none', { tokens: 1 }))).code).toBe('NO_SUCH_PROCESS');
  });
});

describe('reserve and settle', () => {
  it('reserve a ceiling and replace it by what was used', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { tokens: 100 } });
    const child = await kernel.processes.spawnChild(root, {});
    const id = await kernel.processes.reserve(child, { tokens: 60 });
    expect((await kernel.processes.budget(root)).tokens).toMatchObject({ used: 0, reserved: 60, left: 40 });
    const report = await kernel.processes.settle(id, { tokens: 25 });
    expect(report.tokens).toMatchObject({ used: 25, reserved: 0, left: 75 });
    expect((await kernel.processes.budget(root)).tokens).toMatchObject({ used: 25, reserved: 0, left: 75 });
    await checkInvariants(kernel, path);
  });

  it('refuse a reservation that does not fit beside open ones', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ budget: { tokens: 100 } });
    await kernel.processes.reserve(pid, { tokens: 60 });
    expect(await refused(() => kernel.processes.reserve(pid, { tokens: 41 }))).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'tokens', process: pid, limit: 100, used: 0, reserved: 60, asked: 41 },
    });
    expect((await refused(() => kernel.processes.charge(pid, { tokens: 41 }))).code).toBe('BUDGET_EXCEEDED');
    await kernel.processes.reserve(pid, { tokens: 40 });
  });

  it('never refuse a settlement: what passes the limit is overrun, and the next call is refused', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ budget: { tokens: 100 } });
    const id = await kernel.processes.reserve(pid, { tokens: 50 });
    const report = await kernel.processes.settle(id, { tokens: 130, costMicros: 9 });
    expect(report.tokens).toEqual({ limit: 100, used: 130, reserved: 0, left: 0, overrun: 30, boundBy: pid });
    expect(report.costMicros.used).toBe(9);
    expect((await refused(() => kernel.processes.charge(pid, { tokens: 1 }))).code).toBe('BUDGET_EXCEEDED');
    expect((await refused(() => kernel.processes.reserve(pid, { tokens: 1 }))).code).toBe('BUDGET_EXCEEDED');
    await checkInvariants(kernel, path);
  });

  it('settle once', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const id = await kernel.processes.reserve(pid, { tokens: 5 });
    await kernel.processes.settle(id, {});
    expect((await refused(() => kernel.processes.settle(id, { tokens: 1 }))).code).toBe('NO_SUCH_RESERVATION');
    expect((await refused(() => kernel.processes.settle('r_none', {}))).code).toBe('NO_SUCH_RESERVATION');
  });

  it('release open reservations when the process ends, in every account above', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { tokens: 100 } });
    const child = await kernel.processes.spawnChild(root, {});
    const id = await kernel.processes.reserve(child, { tokens: 60 });
    await kernel.processes.reserve(child, { tokens: 20 });
    await kernel.processes.exit(child);
    expect((await kernel.processes.budget(root)).tokens).toMatchObject({ used: 0, reserved: 0, left: 100 });
    expect((await refused(() => kernel.processes.settle(id, { tokens: 1 }))).code).toBe('NO_SUCH_RESERVATION');
    await checkInvariants(kernel, path);
  });
});

describe('children', () => {
  it('are counted at any depth and freed at each end', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { children: 3 } });
    const a = await kernel.processes.spawnChild(root, {});
    const b = await kernel.processes.spawnChild(a, {});
    const c = await kernel.processes.spawnChild(b, {});
    expect(await refused(() => kernel.processes.spawnChild(c, {}))).toEqual({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'children', process: root, limit: 3, used: 3, reserved: 0, asked: 1 },
    });
    expect((await refused(() => kernel.processes.fork(root, {}))).code).toBe('BUDGET_EXCEEDED');
    await kernel.processes.exit(c);
    expect((await kernel.processes.budget(root)).children).toMatchObject({ used: 2, left: 1 });
    await kernel.processes.kill(a);
    expect((await kernel.processes.budget(root)).children).toMatchObject({ used: 0, left: 3 });
    await checkInvariants(kernel, path);
  });

  it('with a limit of zero are refused', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { children: 0 } });
    expect((await refused(() => kernel.processes.spawnChild(root, {}))).code).toBe('BUDGET_EXCEEDED');
  });

  it('spawned at the same time do not both take the last place', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { children: 5 } });
    const spawns = await Promise.allSettled(Array.from({ length: 20 }, () => kernel.processes.spawnChild(root, {})));
    expect(spawns.filter(({ status }) => status === 'fulfilled').length).toBe(5);
    await checkInvariants(kernel, path);
  });

  it('of a fork bomb stop at the budget, leave siblings alone, and one cancel ends them', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { children: 40 } });
    const bomb = await kernel.processes.spawnChild(root, { image: 'worker', budget: { children: 15 } });
    const sibling = await kernel.processes.spawnChild(root, {});
    for (let wave: Pid[] = [bomb]; wave.length > 0; ) {
      const spawned = await Promise.allSettled(
        wave.flatMap((pid) => [pid, pid]).map((pid) => kernel.processes.fork(pid, {})),
      );
      wave = spawned.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    }
    expect((await kernel.processes.budget(bomb)).children).toMatchObject({ used: 15, left: 0 });
    await kernel.processes.spawnChild(sibling, {});
    await kernel.processes.cancel(bomb);
    expect((await kernel.processes.budget(root)).children.used).toBe(2);
    await checkInvariants(kernel, path);
  });
});

describe('depth', () => {
  it('counts the levels below the process that has it', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { depth: 3 } });
    const a = await kernel.processes.spawnChild(root, { budget: { depth: 1 } });
    const b = await kernel.processes.spawnChild(a, {});
    expect(await refused(() => kernel.processes.spawnChild(b, {}))).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'depth', process: a, limit: 1, asked: 2 },
    });
    const c = await kernel.processes.spawnChild(root, { budget: { depth: 9 } });
    const d = await kernel.processes.spawnChild(await kernel.processes.spawnChild(c, {}), {});
    expect(await refused(() => kernel.processes.spawnChild(d, {}))).toMatchObject({
      facts: { dimension: 'depth', process: root, limit: 3, asked: 4 },
    });
  });

  it('is 64 below a root that has no limit of its own', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    let at = root;
    for (let level = 1; level <= 64; level++) at = await kernel.processes.spawnChild(at, {});
    expect((await kernel.processes.get(at)).depth).toBe(64);
    expect(await refused(() => kernel.processes.spawnChild(at, {}))).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'depth', process: root, limit: 64, asked: 65 },
    });
  });
});

describe('onBudget: cancel', () => {
  it('stops the process that ran out, with all that is below it', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(root, { budget: { tokens: 5 }, onBudget: 'cancel' });
    const child = await kernel.processes.spawnChild(pid, {});
    await kernel.processes.charge(child, { tokens: 5 });
    await expect(kernel.processes.charge(child, { tokens: 1 })).rejects.toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { process: pid },
    });
    expect([await outcomeOf(kernel, pid), await outcomeOf(kernel, child)]).toEqual([
      'budget_exhausted',
      'budget_exhausted',
    ]);
    expect((await kernel.processes.get(root)).status).toBe('created');
    const { items } = await kernel.events.list({ types: ['budget.exceeded'] });
    expect(items.map(({ pid: of, data }) => [of, data])).toEqual([
      [child, { dimension: 'tokens', process: pid, limit: 5, used: 5, reserved: 0, asked: 1 }],
    ]);
    await checkInvariants(kernel, path);
  });

  it('stops the process that ran out of tokens for its context', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ budget: { materializedTokens: 1 }, onBudget: 'cancel' });
    await kernel.memory.create(pid, { type: 'claim', payload: 'word '.repeat(40) });
    await expect(kernel.memory.materialize(pid, { tokensMax: 90 })).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED' });
    expect(await outcomeOf(kernel, pid)).toBe('budget_exhausted');
  });

  it('gives a process that a node runs the grace', async () => {
    const { kernel, edit } = await timedKernelFixture({ clock: manualClock() });
    const pid = await kernel.processes.spawn({ budget: { tokens: 5 }, onBudget: 'cancel' });
    await edit(pid, { status: 'running', node: 'n_other' });
    await expect(kernel.processes.charge(pid, { tokens: 6 })).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED' });
    expect((await kernel.processes.get(pid)).status).toBe('stopping');
    await kernel.processes.exit(pid, { result: 'saved' });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'saved' });
  });

  it('without it the process goes on', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ budget: { tokens: 5 } });
    expect((await refused(() => kernel.processes.charge(pid, { tokens: 6 }))).code).toBe('BUDGET_EXCEEDED');
    expect((await kernel.processes.get(pid)).status).toBe('created');
  });
});

describe('setBudget', () => {
  it('changes the limits it names and leaves the others', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ budget: { tokens: 5, children: 1 } });
    await kernel.processes.charge(pid, { tokens: 5 });
    const report = await kernel.processes.setBudget(pid, { tokens: 7, toolCalls: 2 });
    expect([report.tokens.left, report.toolCalls.left, report.children.left, report.depth.left]).toEqual([2, 2, 1, 64]);
    expect((await kernel.processes.get(pid)).budget).toEqual({ tokens: 7, toolCalls: 2, children: 1, depth: 64 });
    await kernel.processes.charge(pid, { tokens: 2 });
    expect((await refused(() => kernel.processes.charge(pid, { tokens: 1 }))).code).toBe('BUDGET_EXCEEDED');
    const { items } = await kernel.audit.list({ action: 'budget.set' });
    expect(items).toMatchObject([{ actor: 'host', target: pid, outcome: 'ok' }]);
    await checkInvariants(kernel, path);
  });

  it('below what is used shows an overrun and refuses the next call', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    await kernel.processes.charge(pid, { tokens: 10 });
    expect((await kernel.processes.setBudget(pid, { tokens: 4 })).tokens).toMatchObject({ left: 0, overrun: 6 });
    expect((await refused(() => kernel.processes.charge(pid, { tokens: 1 }))).code).toBe('BUDGET_EXCEEDED');
  });

  it('above the parent’s is legal and useless', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { tokens: 5 } });
    const child = await kernel.processes.spawnChild(root, { budget: { tokens: 1 } });
    expect((await kernel.processes.setBudget(child, { tokens: 50 })).tokens).toMatchObject({ left: 5, boundBy: root });
    expect(await refused(() => kernel.processes.charge(child, { tokens: 6 }))).toMatchObject({
      facts: { process: root },
    });
  });

  it('refuses an unknown dimension, an unknown process and an ended one', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    expect((await refused(() => kernel.processes.setBudget(pid, { apples: 1 } as never))).code).toBe('INVALID_INPUT');
    expect((await refused(() => kernel.processes.setBudget(pid, { depth: 1025 }))).code).toBe('INVALID_INPUT');
    expect((await refused(() => kernel.processes.setBudget('p_none', {}))).code).toBe('NO_SUCH_PROCESS');
    await kernel.processes.exit(pid);
    expect((await refused(() => kernel.processes.setBudget(pid, {}))).code).toBe('PROCESS_TERMINATED');
  });
});

/** Sets the usage of the first accounts, as many charges would. */
async function setTokensUsed(path: string, accounts: number, tokens: number): Promise<void> {
  const tables = openRawTables(path);
  for (let n = 1; n <= accounts; n++) expect(await tables.update('accounts', { n }, { tokens_used: tokens })).toBe(1);
}

describe('amounts at the edge of what a number holds', () => {
  const chargeMax = 10 ** 12;
  const sumMax = Number.MAX_SAFE_INTEGER;

  it('adds at most 10^12 in one charge or reservation', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    expect((await kernel.processes.charge(pid, { tokens: chargeMax })).tokens.used).toBe(chargeMax);
    const usage = { tokens: chargeMax + 1 };
    const calls = [
      () => kernel.processes.charge(pid, usage),
      () => kernel.processes.reserve(pid, usage),
      () => kernel.as(pid).charge(usage),
    ];
    for (const call of calls) expect((await refused(call)).code).toBe('INVALID_INPUT');
  });

  it('cuts a settlement to 10^12 instead of refusing it', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const reservation = await kernel.processes.reserve(pid, { costMicros: 5 });
    const { costMicros } = await kernel.processes.settle(reservation, { costMicros: sumMax });
    expect(costMicros).toMatchObject({ used: chargeMax, reserved: 0 });
    await checkInvariants(kernel, path);
  });

  it('stops sums at 2^53 - 1, where an account without a limit refuses nobody below it', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const [greedy, other] = [await kernel.processes.spawnChild(root, {}), await kernel.processes.spawnChild(root, {})];
    await setTokensUsed(path, 3, sumMax - 5);
    expect((await kernel.processes.charge(greedy, { tokens: chargeMax })).tokens.used).toBe(sumMax);
    expect((await kernel.processes.charge(other, { tokens: 3 })).tokens.used).toBe(sumMax - 2);
    expect((await kernel.processes.budget(root)).tokens.used).toBe(sumMax);
    await kernel.processes.settle(await kernel.processes.reserve(other, { tokens: 7 }), { tokens: 7 });
    expect((await kernel.processes.budget(other)).tokens.used).toBe(sumMax);
  });

  it('binds an account that has a limit, which the host can always raise', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { tokens: sumMax - 1 } });
    const child = await kernel.processes.spawnChild(root, {});
    await setTokensUsed(path, 2, sumMax - 1);
    const { code, facts } = await refused(() => kernel.as(child).charge({ tokens: 1 }));
    expect([code, facts]).toMatchObject(['BUDGET_EXCEEDED', { dimension: 'tokens', process: root, asked: 1 }]);
    await kernel.processes.setBudget(root, { tokens: sumMax });
    expect((await kernel.as(child).charge({ tokens: chargeMax })).tokens.used).toBe(sumMax);
    expect((await kernel.as(child).charge({ tokens: chargeMax })).tokens.used).toBe(sumMax);
  });
});

describe('time that is limited twice', () => {
  it('stays within the deadline of the spec when the time limit is raised', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ deadlineMs: 1_000, budget: { wallMs: 500 } });
    const { createdAt } = await kernel.processes.get(pid);
    await kernel.processes.setBudget(pid, { wallMs: 50_000 });
    expect((await kernel.processes.get(pid)).deadlineAt).toBe(createdAt + 1_000);
  });

  it('names the process whose deadline applies', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ deadlineMs: 60_000 });
    const inherits = await kernel.processes.spawnChild(root, {});
    const sooner = await kernel.processes.spawnChild(root, { deadlineMs: 10_000 });
    const binding = async (pid: Pid) => (await kernel.processes.budget(pid)).wallMs.boundBy;
    expect([await binding(inherits), await binding(sooner)]).toEqual([root, sooner]);
  });
});
