import { describe, expect, it } from 'vitest';
import type { Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { type KernelFixture, kernelFixture } from '../support/kernel-fixture.js';

async function spawnFamily({ kernel }: KernelFixture): Promise<{ root: Pid; child: Pid; below: Pid; stranger: Pid }> {
  const root = await kernel.processes.spawn({ image: 'worker' });
  const child = await kernel.processes.spawnChild(root, { image: 'worker' });
  const below = await kernel.processes.spawnChild(child, { image: 'worker' });
  const stranger = await kernel.processes.spawn({ image: 'worker' });
  return { root, child, below, stranger };
}

describe('the process face', () => {
  it('acts as the process: its calls are on record as its own', async () => {
    const set = await kernelFixture();
    const { kernel } = set;
    const root = await kernel.processes.spawn({ image: 'worker' });
    const face = kernel.as(root);
    expect(face.pid).toBe(root);
    const spawned = await face.spawnChild({ image: 'worker', goal: 'a' });
    const forked = await face.fork({ goal: 'b' });
    await face.pause(spawned);
    await face.resume(spawned);
    await face.cancel(spawned, 'enough');
    await face.kill(forked, 'now');
    expect((await face.waitAll([spawned, forked])).map(({ outcome }) => outcome)).toEqual([
      { kind: 'cancelled', reason: 'enough', by: root },
      { kind: 'killed', reason: 'now', by: root },
    ]);
    await face.exit({ result: 'done' });
    const { items } = await kernel.audit.list({ actor: root });
    expect(items.map(({ action, via, target }) => [action, via, target])).toEqual([
      ['process.spawnChild', 'process', spawned],
      ['process.fork', 'process', forked],
      ['process.pause', 'process', spawned],
      ['process.resume', 'process', spawned],
      ['process.cancel', 'process', spawned],
      ['process.kill', 'process', forked],
      ['process.wait', 'process', spawned],
      ['process.wait', 'process', forked],
      ['process.exit', 'process', root],
    ]);
    await checkInvariants(kernel, set.path);
  });

  it('spends the budget of its own process, and settles no reservation but its own', async () => {
    const set = await kernelFixture();
    const { kernel } = set;
    const root = await kernel.processes.spawn({ image: 'worker', budget: { tokens: 100 } });
    const face = kernel.as(root);
    expect((await face.charge({ tokens: 40 })).tokens).toMatchObject({ used: 40, left: 60 });
    const own = await face.reserve({ tokens: 50 });
    const other = await kernel.processes.spawn({ image: 'worker' });
    expect(await refusal(kernel.as(other).settle(own, { tokens: 0 }))).toMatchObject({ code: 'NO_SUCH_RESERVATION' });
    expect(await refusal(face.reserve({ tokens: 11 }))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    const rest = await face.reserve({ tokens: 11 }, { partial: true });
    expect((await face.budget()).tokens).toMatchObject({ used: 40, reserved: 60, left: 0 });
    expect(await refusal(face.reserve({ tokens: 1 }, { partial: true }))).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'tokens', process: root, asked: 1 },
    });
    expect(await refusal(face.reserve({ tokens: 1 }, { partial: 1 } as never))).toMatchObject({
      code: 'INVALID_INPUT',
    });
    await face.settle(own, { tokens: 45 });
    expect((await face.settle(rest, { tokens: 30 })).tokens).toMatchObject({ used: 115, reserved: 0, overrun: 15 });
    const records = (await kernel.audit.list({ actor: root })).items.filter(({ outcome }) => outcome === 'ok');
    expect(records.map(({ action, via }) => [action, via])).toEqual([
      ['budget.charge', 'process'],
      ['budget.reserve', 'process'],
      ['budget.reserve', 'process'],
      ['budget.settle', 'process'],
      ['budget.settle', 'process'],
    ]);
    await checkInvariants(kernel, set.path);
  });

  it('the same calls of the host are on record as done by the host, or for the process', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.processes.spawnChild(root, {});
    await kernel.processes.kill(child);
    await kernel.processes.exec(root, { image: 'worker' });
    await kernel.processes.exit(root);
    const { items } = await kernel.audit.list({});
    const ofHost = items.filter(({ action }) => action.startsWith('process.'));
    expect(ofHost.map(({ action, actor }) => [action, actor])).toEqual([
      ['process.spawn', 'host'],
      ['process.spawnChild', root],
      ['process.kill', 'host'],
      ['process.exec', root],
      ['process.exit', 'host'],
    ]);
    expect(new Set(ofHost.map(({ via }) => via.slice(0, 5)))).toEqual(new Set(['host:']));
  });

  it('replaces its own program', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker' });
    await kernel.as(root).exec({ image: 'base' });
    expect(await kernel.processes.get(root)).toMatchObject({ image: 'base@1', generation: 2 });
  });

  it('waits for its own children and reads what they left', async () => {
    const set = await kernelFixture();
    const { kernel } = set;
    const { root, child } = await spawnFamily(set);
    const waiting = kernel.as(root).wait(child);
    await kernel.as(child).exit({ result: { n: 1 } });
    const { result } = await waiting;
    if (result === undefined) throw new Error('no result');
    expect(await kernel.as(root).memory.read(result)).toMatchObject({ payload: { n: 1 } });
    expect(await kernel.as(root).waitAny([child])).toMatchObject({ value: { n: 1 } });
  });

  it('refuses to signal a stranger, a grandchild, its parent, itself and nobody, all alike, and says so on record', async () => {
    const set = await kernelFixture();
    const { kernel, refused } = set;
    const { root, child, below, stranger } = await spawnFamily(set);
    const face = kernel.as(child);
    for (const signal of ['kill', 'cancel', 'pause', 'resume'] as const) {
      for (const pid of [stranger, root, child, 'p_none']) {
        expect(await refused(() => face[signal](pid))).toEqual({
          code: 'NOT_A_CHILD',
          facts: { pid: child, child: pid },
        });
      }
    }
    expect((await refused(() => kernel.as(root).kill(below))).code).toBe('NOT_A_CHILD');
    const { items } = await kernel.audit.list({ actor: child, outcome: 'refused' });
    expect([...new Set(items.map(({ code, via }) => `${code} ${via}`))]).toEqual(['NOT_A_CHILD process']);
    expect((await kernel.as(child).kill(below)).delivered).toEqual([below]);
  });

  it('gives a child the time to end that it names, and refuses what is no duration', async () => {
    const set = await kernelFixture();
    const { root, child } = await spawnFamily(set);
    await set.edit(child, { status: 'running', node: 'n_other' });
    const face = set.kernel.as(root);
    for (const options of [{ graceMs: -1 }, { graceMs: 0.5 }, { tree: false }, 5]) {
      expect((await set.refused(() => face.cancel(child, 'enough', options as never))).code).toBe('INVALID_INPUT');
    }
    await face.cancel(child, 'enough', { graceMs: 777 });
    const { updated_at, alarm_at } = (await set.row(child)) as Record<string, number>;
    expect(alarm_at).toBe((updated_at ?? 0) + 777);
  });

  it('lists its own children, live and ended, and nobody else whatever it asks for', async () => {
    const set = await kernelFixture();
    const { kernel, refused } = set;
    const { root, child, below, stranger } = await spawnFamily(set);
    const ended = await kernel.as(root).spawnChild({ image: 'base', name: 'short' });
    await kernel.processes.complete(ended, 1);
    const face = kernel.as(root);
    expect(await face.children()).toEqual(await kernel.processes.children(root));
    expect((await face.children()).map(({ pid }) => pid)).toEqual([child, ended]);
    expect((await face.children({ status: 'exited' })).map(({ pid }) => pid)).toEqual([ended]);
    expect((await face.children({ parent: child })).map(({ pid }) => pid)).toEqual([child, ended]);
    expect((await kernel.as(child).children()).map(({ pid }) => pid)).toEqual([below]);
    expect(await kernel.as(stranger).children()).toEqual([]);
    expect((await refused(() => face.children({ colour: 'red' } as never))).code).toBe('INVALID_INPUT');
  });

  it('refuses to wait for a stranger, and says so on record', async () => {
    const set = await kernelFixture();
    const { kernel, refused } = set;
    const { child, stranger } = await spawnFamily(set);
    expect((await refused(() => kernel.as(child).wait(stranger))).code).toBe('NOT_A_CHILD');
    const { items } = await kernel.audit.list({ actor: child, outcome: 'refused' });
    expect(items.map(({ code, action, target }) => [code, action, target])).toEqual([
      ['NOT_A_CHILD', 'process.wait', stranger],
    ]);
  });

  it('refuses a child that would outlive its tree as a root', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const face = kernel.as(root);
    expect((await refused(() => face.spawnChild({ onParentExit: 'detach' }))).code).toBe('INVALID_INPUT');
    expect((await refused(() => face.fork({ onParentExit: 'detach' }))).code).toBe('INVALID_INPUT');
    expect(await face.spawnChild({ onParentExit: 'reparent' })).toMatch(/^p_/);
  });

  it('shows its own capabilities', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:x', rights: ['call'] }] });
    const { capabilities } = kernel.as(root);
    expect((await capabilities.list()).map(({ resource }) => resource)).toEqual([`ns:process/${root}/**`, 'tool:x']);
    expect((await capabilities.check('call', 'tool:x')).effect).toBe('allow');
    expect(await capabilities.explain('call', 'tool:y')).toMatchObject({ effect: 'deny', pid: root });
  });

  it('of an ended process does nothing more, not even to a child that is still stopping', async () => {
    const set = await kernelFixture();
    const { kernel, refused, edit } = set;
    const { root, child } = await spawnFamily(set);
    await edit(child, { status: 'running', node: 'n_other' });
    await kernel.processes.exit(root);
    expect((await kernel.processes.get(child)).status).toBe('stopping');
    expect((await refused(() => kernel.as(root).kill(child))).code).toBe('PROCESS_TERMINATED');
    expect((await refused(() => kernel.as(root).chdir('.'))).code).toBe('PROCESS_TERMINATED');
  });

  it('of nobody does nothing', async () => {
    const { kernel, refused } = await kernelFixture();
    const face = kernel.as('p_none');
    expect((await refused(() => face.spawnChild())).code).toBe('NO_SUCH_PROCESS');
    expect((await refused(() => face.exit())).code).toBe('NO_SUCH_PROCESS');
    expect((await refused(() => face.wait('p_other'))).code).toBe('NO_SUCH_PROCESS');
    expect(() => kernel.as('')).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    expect(() => kernel.as(5 as never)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
  });
});
