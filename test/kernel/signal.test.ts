import { describe, expect, it } from 'vitest';
import type { Kernel, Pid, SignalScope } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { eventsAfter, kernelFixture, lastSeq } from '../support/kernel-fixture.js';

const emptyReport = {
  matched: 0,
  delivered: [],
  unchanged: [],
  alreadyTerminal: [],
  refused: [],
  stale: [],
  unavailable: [],
};

/** root ─ a ─ b, and root ─ c; all runnable. */
async function spawnTree(kernel: Kernel): Promise<Record<'root' | 'a' | 'b' | 'c', Pid>> {
  const root = await kernel.processes.spawn({ image: 'worker' });
  const a = await kernel.processes.spawnChild(root, { image: 'worker' });
  const b = await kernel.processes.spawnChild(a, { image: 'worker' });
  const c = await kernel.processes.spawnChild(root, { image: 'worker' });
  return { root, a, b, c };
}

async function statusesOf(kernel: Kernel, pids: readonly Pid[]): Promise<string[]> {
  return Promise.all(pids.map(async (pid) => (await kernel.processes.get(pid)).status));
}

describe('pause and resume', () => {
  it('take the whole subtree and nothing beside it', async () => {
    const { kernel, path } = await kernelFixture();
    const { root, a, b, c } = await spawnTree(kernel);
    expect(await kernel.processes.pause(a, 'lunch')).toEqual({ ...emptyReport, matched: 2, delivered: [a, b] });
    expect(await statusesOf(kernel, [root, a, b, c])).toEqual(['runnable', 'paused', 'paused', 'runnable']);
    expect(await kernel.processes.resume(a)).toEqual({ ...emptyReport, matched: 2, delivered: [a, b] });
    expect(await statusesOf(kernel, [root, a, b, c])).toEqual(Array(4).fill('runnable'));
    await checkInvariants(kernel, path);
  });

  it('with tree: false take the process alone', async () => {
    const { kernel } = await kernelFixture();
    const { a, b } = await spawnTree(kernel);
    await kernel.processes.signal(a, 'pause', { tree: false });
    expect(await statusesOf(kernel, [a, b])).toEqual(['paused', 'runnable']);
  });

  it('give a running and a waiting process back what they were', async () => {
    const { kernel, edit, row } = await kernelFixture();
    const { a } = await spawnTree(kernel);
    const wait = JSON.stringify({ kind: 'timer', what: 'tea', since: 1 });
    for (const state of [
      { status: 'running', wait: null },
      { status: 'waiting', wait },
    ]) {
      await edit(a, { ...state, node: 'n_other' });
      await kernel.processes.pause(a);
      expect(await row(a)).toMatchObject({
        status: 'paused',
        previous: state.status,
        wait: state.wait,
        node: 'n_other',
      });
      await kernel.processes.resume(a);
      expect(await row(a)).toMatchObject({ ...state, previous: null, node: 'n_other' });
    }
  });

  it('take a process that nobody has started, and give it back what it was', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker' });
    const external = await kernel.processes.spawnChild(root, { image: 'base' });
    const delivered = [root, external];
    expect(await kernel.processes.pause(root)).toEqual({ ...emptyReport, matched: 2, delivered });
    expect(await statusesOf(kernel, delivered)).toEqual(['paused', 'paused']);
    expect(await kernel.processes.resume(root)).toEqual({ ...emptyReport, matched: 2, delivered });
    expect(await statusesOf(kernel, delivered)).toEqual(['runnable', 'created']);
    await checkInvariants(kernel, path);
  });

  it('report what is already so as unchanged, and write nothing', async () => {
    const { kernel, row } = await kernelFixture();
    const { root, a, b, c } = await spawnTree(kernel);
    await kernel.processes.pause(a);
    const [before, seq] = [await row(a), await lastSeq(kernel)];
    expect(await kernel.processes.pause(a)).toEqual({ ...emptyReport, matched: 2, unchanged: [a, b] });
    expect(await kernel.processes.resume(c)).toEqual({ ...emptyReport, matched: 1, unchanged: [c] });
    expect([await row(a), await lastSeq(kernel)]).toEqual([before, seq]);
    const report = await kernel.processes.pause(root);
    expect(report).toEqual({ ...emptyReport, matched: 4, delivered: [root, c], unchanged: [a, b] });
  });

  it('refuse a pause of what is being stopped, and leave it', async () => {
    const { kernel, edit, row } = await kernelFixture();
    const { a, b } = await spawnTree(kernel);
    for (const pid of [a, b]) await edit(pid, { status: 'running', node: 'n_other' });
    await kernel.processes.signal(b, 'cancel', { tree: false });
    const before = await row(b);
    const refused = [{ pid: b, code: 'INVALID_TRANSITION', message: expect.stringContaining('stopping') }];
    expect(await kernel.processes.pause(a)).toEqual({ ...emptyReport, matched: 2, delivered: [a], refused });
    expect(await row(b)).toEqual(before);
  });

  it('tell who was paused and resumed, in events and records', async () => {
    const { kernel } = await kernelFixture();
    const { a, b } = await spawnTree(kernel);
    const seq = await lastSeq(kernel);
    await kernel.processes.pause(a, 'lunch');
    await kernel.processes.resume(a);
    expect(await eventsAfter(kernel, seq)).toEqual([
      ['process.paused', a],
      ['process.paused', b],
      ['process.resumed', a],
      ['process.resumed', b],
    ]);
    const { items } = await kernel.audit.list({ target: b });
    expect(items.slice(1).map(({ action, before, after, payload }) => [action, before, after, payload])).toEqual([
      ['process.pause', 'runnable', 'paused', { reason: 'lunch' }],
      ['process.resume', 'paused', 'runnable', undefined],
    ]);
  });
});

describe('cancel', () => {
  it('ends at once what no node runs, the whole subtree in one commit', async () => {
    const { kernel, path } = await kernelFixture();
    const { root, a, b, c } = await spawnTree(kernel);
    const seq = await lastSeq(kernel);
    expect(await kernel.processes.cancel(a, 'enough')).toEqual({ ...emptyReport, matched: 2, delivered: [a, b] });
    expect(await statusesOf(kernel, [root, a, b, c])).toEqual(['runnable', 'killed', 'killed', 'runnable']);
    const outcome = { kind: 'cancelled', reason: 'enough', by: 'host' };
    expect((await kernel.processes.get(a)).outcome).toEqual(outcome);
    expect((await kernel.processes.get(b)).outcome).toEqual(outcome);
    const { items } = await kernel.events.list({ after: String(seq) });
    expect(new Set(items.map(({ at }) => at)).size).toBe(1);
    await checkInvariants(kernel, path);
  });

  it('stops what a node runs, with the reason and the time of escalation stored first', async () => {
    const { kernel, path, edit, row } = await kernelFixture();
    const { a, b } = await spawnTree(kernel);
    await edit(a, { status: 'running', node: 'n_other' });
    await edit(b, { status: 'waiting', node: 'n_other' });
    await kernel.processes.signal(a, 'cancel', { reason: 'enough', graceMs: 777 });
    for (const pid of [a, b]) {
      const { status, stop, alarm_at, updated_at } = await row(pid);
      expect({ status, stop: JSON.parse(`${stop}`), grace: Number(alarm_at) - Number(updated_at) }).toEqual({
        status: 'stopping',
        stop: { kind: 'cancelled', by: 'host', reason: 'enough', record: expect.any(String) },
        grace: 777,
      });
    }
    const { items } = await kernel.events.list({ types: ['process.stopping'] });
    expect(items.map(({ pid, data }) => [pid, data])).toEqual(
      await Promise.all([a, b].map(async (pid) => [pid, { outcome: 'cancelled', alarmAt: (await row(pid)).alarm_at }])),
    );
    await checkInvariants(kernel, path, { edited: true });
  });

  it('a second time is refused for each process and changes nothing', async () => {
    const { kernel, edit, row } = await kernelFixture();
    const { a } = await spawnTree(kernel);
    await edit(a, { status: 'running', node: 'n_other' });
    await kernel.processes.signal(a, 'cancel', { tree: false, reason: 'first' });
    const before = await row(a);
    const second = await kernel.processes.signal(a, 'cancel', { tree: false, reason: 'second' });
    expect(second).toEqual({
      ...emptyReport,
      matched: 1,
      refused: [{ pid: a, code: 'INVALID_TRANSITION', message: expect.any(String) }],
    });
    expect(await row(a)).toEqual(before);
  });

  it('refuses a descendant that spawns after it', async () => {
    const { kernel, refused, edit } = await kernelFixture();
    const { root, a, b } = await spawnTree(kernel);
    for (const pid of [root, a, b]) await edit(pid, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(root);
    for (const pid of [root, a, b]) {
      expect((await refused(() => kernel.processes.spawnChild(pid, {}))).code).toBe('TREE_STOPPING');
      expect((await refused(() => kernel.processes.fork(pid, {}))).code).toBe('TREE_STOPPING');
    }
  });

  it('of a tree against spawns in it: none is left outside', async () => {
    const { kernel, path } = await kernelFixture();
    const { root, a, b } = await spawnTree(kernel);
    const spawns = Array.from({ length: 30 }, (_, index) =>
      kernel.processes.spawnChild([root, a, b][index % 3] ?? root, { image: 'worker' }),
    );
    const cancelled = kernel.processes.cancel(root);
    const late = Array.from({ length: 30 }, () => kernel.processes.spawnChild(a, {}));
    const outcomes = await Promise.allSettled([...spawns, cancelled, ...late]);
    expect(outcomes.slice(31).every(({ status }) => status === 'rejected')).toBe(true);
    expect((await kernel.processes.list({ live: true })).items).toEqual([]);
    await checkInvariants(kernel, path);
  });
});

describe('kill', () => {
  it('ends the subtree at once, running or not', async () => {
    const { kernel, path, edit } = await kernelFixture();
    const { root, a, b, c } = await spawnTree(kernel);
    await edit(a, { status: 'running', node: 'n_other' });
    expect(await kernel.processes.kill(a, 'now')).toEqual({ ...emptyReport, matched: 2, delivered: [a, b] });
    expect(await statusesOf(kernel, [root, a, b, c])).toEqual(['runnable', 'killed', 'killed', 'runnable']);
    expect((await kernel.processes.get(b)).outcome).toEqual({ kind: 'killed', reason: 'now', by: 'host' });
    await checkInvariants(kernel, path, { edited: true });
  });

  it('ends what is stopping, as killed', async () => {
    const { kernel, edit } = await kernelFixture();
    const { a } = await spawnTree(kernel);
    await edit(a, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(a);
    await kernel.processes.kill(a);
    expect(await kernel.processes.get(a)).toMatchObject({ status: 'killed', outcome: { kind: 'killed' } });
  });

  it('with tree: false leaves the children to their own rule', async () => {
    const { kernel, path } = await kernelFixture();
    const { root, a, b } = await spawnTree(kernel);
    const heir = await kernel.processes.spawnChild(a, { image: 'worker', onParentExit: 'reparent' });
    expect(await kernel.processes.signal(a, 'kill', { tree: false })).toMatchObject({ matched: 1, delivered: [a] });
    expect(await kernel.processes.get(b)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'parent_exited', by: a },
    });
    expect(await kernel.processes.get(heir)).toMatchObject({ status: 'runnable', parent: root });
    await checkInvariants(kernel, path);
  });
});

describe('a signal to an ended process', () => {
  it('is reported as alreadyTerminal and leaves the row as it is', async () => {
    const { kernel, row } = await kernelFixture();
    const { a } = await spawnTree(kernel);
    await kernel.processes.kill(a);
    const before = await row(a);
    const seq = await lastSeq(kernel);
    for (const signal of ['pause', 'resume', 'cancel', 'kill', 'user.hello'] as const) {
      expect(await kernel.processes.signal(a, signal)).toEqual({ ...emptyReport, matched: 1, alreadyTerminal: [a] });
    }
    expect(await row(a)).toEqual(before);
    expect(await eventsAfter(kernel, seq)).toEqual([]);
  });
});

describe('a signal that cannot be sent', () => {
  it('is refused for an unknown process, an unknown name and invalid options', async () => {
    const { kernel, refused } = await kernelFixture();
    const { a } = await spawnTree(kernel);
    expect((await refused(() => kernel.processes.kill('p_none'))).code).toBe('NO_SUCH_PROCESS');
    expect((await refused(() => kernel.processes.signal({ tree: 'p_none' }, 'kill'))).code).toBe('NO_SUCH_PROCESS');
    for (const name of ['stop', 'SIGTERM', 'user.', 'user', 'user. x', `user.${'x'.repeat(129)}`, '']) {
      expect((await refused(() => kernel.processes.signal(a, name as never))).code).toBe('INVALID_INPUT');
    }
    const bad = [
      { graceMs: -1 },
      { graceMs: 0.5 },
      { more: 1 },
      { id: '' },
      { reason: 1 },
      { reason: 'x'.repeat(4097) },
    ];
    for (const options of bad) {
      expect((await refused(() => kernel.processes.signal(a, 'cancel', options as never))).code).toBe('INVALID_INPUT');
    }
    expect((await refused(() => kernel.processes.signal(a, 'user.x', { tree: true }))).code).toBe('INVALID_INPUT');
  });
});

describe('a scope', () => {
  it('selects by each of its selectors, and by their conjunction', async () => {
    const { kernel, edit } = await kernelFixture();
    const spawn = kernel.processes.spawn;
    const one = await spawn({
      image: 'worker',
      name: 'one',
      labels: { team: 'a', role: 'x' },
      owner: { session: 's1', turn: 't1' },
    });
    const two = await spawn({ image: 'worker', name: 'two', labels: { team: 'a' }, owner: { session: 's1' } });
    const three = await spawn({ name: 'one', labels: { team: 'b' }, owner: { session: 's2' } });
    const child = await kernel.processes.spawnChild(three, { name: 'below' });
    await edit(two, { node: 'n_other', status: 'running' });
    const scopes: [SignalScope, Pid[]][] = [
      [{ name: 'one' }, [one, three]],
      [{ labels: { team: 'a' } }, [one, two]],
      [{ labels: { team: 'a', role: 'x' } }, [one]],
      [{ image: 'worker' }, [one, two]],
      [{ image: 'worker@1' }, [one, two]],
      [{ image: 'worker@2' }, []],
      [{ image: 'work' }, []],
      [{ kind: 'external' }, [three, child]],
      [{ node: 'n_other' }, [two]],
      [{ owner: { session: 's1' } }, [one, two]],
      [{ owner: { session: 's1', turn: 't1' } }, [one]],
      [{ owner: { turn: 'none' } }, []],
      [{ root: three }, [three, child]],
      [{ tree: three }, [three, child]],
      [{ tree: child }, [child]],
      [{ tree: three, name: 'below' }, [child]],
      [{ name: 'one', kind: 'agent' }, [one]],
      [{ name: 'one', labels: { team: 'a' }, owner: { session: 's2' } }, []],
    ];
    for (const [scope, expected] of scopes) {
      const { delivered, matched } = await kernel.processes.signal(scope, 'user.ping');
      expect([scope, matched, delivered]).toEqual([scope, expected.length, expected]);
    }
  });

  it('takes the subtrees of what it selects, each process once', async () => {
    const { kernel, path } = await kernelFixture();
    const { root, a, b, c } = await spawnTree(kernel);
    const named = await kernel.processes.spawnChild(b, { image: 'worker', name: 'x' });
    const deeper = await kernel.processes.spawnChild(named, { image: 'worker', name: 'x' });
    const { delivered } = await kernel.processes.signal({ name: 'x' }, 'cancel');
    expect(delivered).toEqual([named, deeper]);
    expect(await statusesOf(kernel, [root, a, b, c])).toEqual(Array(4).fill('runnable'));
    await checkInvariants(kernel, path);
  });

  it('never selects an ended process', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ name: 'gone' });
    await kernel.processes.exit(pid);
    expect(await kernel.processes.signal({ name: 'gone' }, 'kill')).toEqual(emptyReport);
  });

  it('is refused when it is empty, in whatever way, or has an unknown selector', async () => {
    const { kernel, refused } = await kernelFixture();
    await spawnTree(kernel);
    const empty = [{}, { labels: {} }, { owner: {} }, { name: undefined }, { owner: { session: undefined } }];
    for (const scope of [...empty, { status: 'runnable' }, null, 5, [], { name: '' }]) {
      expect((await refused(() => kernel.processes.signal(scope as never, 'kill'))).code).toBe('INVALID_INPUT');
    }
  });
});

describe('a user signal', () => {
  it('goes to the target only and is numbered in order, per name', async () => {
    const { kernel } = await kernelFixture();
    const { a, b } = await spawnTree(kernel);
    const send = (name: `user.${string}`, payload: number) => kernel.processes.signal(a, name, { payload });
    await Promise.all([send('user.tick', 1), send('user.tick', 2), send('user.tock', 3), send('user.tick', 4)]);
    const { items } = await kernel.events.list({ types: ['process.signalled'] });
    expect(items.map(({ pid, data }) => [pid, data])).toEqual([
      [a, { signal: 'user.tick', ordinal: 1 }],
      [a, { signal: 'user.tick', ordinal: 2 }],
      [a, { signal: 'user.tock', ordinal: 1 }],
      [a, { signal: 'user.tick', ordinal: 3 }],
    ]);
    expect((await kernel.audit.list({ target: b, action: 'process.signal' })).items).toEqual([]);
    const { items: records } = await kernel.audit.list({ target: a, action: 'process.signal' });
    expect(records.map(({ payload }) => payload)).toEqual([1, 2, 3, 4].map((payload) => ({ payload })));
  });
});

describe('an id of a signal', () => {
  it('makes sending idempotent: the same report again, and nothing more happens', async () => {
    const { kernel } = await kernelFixture();
    const { a } = await spawnTree(kernel);
    const options = { id: 'signal-1', payload: { n: 1 } };
    const first = await kernel.processes.signal(a, 'user.tick', options);
    const seq = await lastSeq(kernel);
    expect(await kernel.processes.signal(a, 'user.tick', options)).toEqual(first);
    await kernel.processes.kill(a);
    expect(await kernel.processes.signal(a, 'user.tick', options)).toEqual(first);
    expect((await eventsAfter(kernel, seq)).filter(([type]) => type === 'process.signalled')).toEqual([]);
  });

  it('refuses another signal with the same id', async () => {
    const { kernel, refused } = await kernelFixture();
    const { a, b } = await spawnTree(kernel);
    await kernel.processes.signal(a, 'user.tick', { id: 'one', payload: 1 });
    const others = [
      () => kernel.processes.signal(a, 'user.tick', { id: 'one', payload: 2 }),
      () => kernel.processes.signal(a, 'user.tock', { id: 'one', payload: 1 }),
      () => kernel.processes.signal(b, 'user.tick', { id: 'one', payload: 1 }),
      () => kernel.processes.signal(a, 'kill', { id: 'one' }),
    ];
    for (const other of others) {
      expect(await refused(other)).toEqual({ code: 'CONFLICT', facts: { id: 'one' } });
    }
  });
});
