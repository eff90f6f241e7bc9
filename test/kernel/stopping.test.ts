import { describe, expect, it } from 'vitest';
import type { Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { type KernelFixture, manualClock, outcomeOf, timedKernelFixture } from '../support/kernel-fixture.js';

/** A process and its child, both as if another node ran them. */
async function spawnDriven({ kernel, edit }: KernelFixture, spec: { deadlineMs?: number } = {}): Promise<[Pid, Pid]> {
  const pid = await kernel.processes.spawn(spec);
  const child = await kernel.processes.spawnChild(pid, {});
  for (const one of [pid, child]) await edit(one, { status: 'running', node: 'n_other' });
  return [pid, child];
}

describe('a process that is stopping', () => {
  it('that exits within the grace keeps its result', async () => {
    const set = await timedKernelFixture();
    const [pid] = await spawnDriven(set);
    await set.kernel.processes.signal(pid, 'cancel', { graceMs: 60_000, tree: false });
    await set.kernel.processes.exit(pid, { result: 'just in time' });
    expect(await set.kernel.processes.result(pid)).toMatchObject({
      status: 'exited',
      outcome: { kind: 'completed' },
      value: 'just in time',
    });
    await checkInvariants(set.kernel, set.path, { edited: true });
  });

  it('is killed with the stored reason when the grace is over', async () => {
    const clock = manualClock();
    const set = await timedKernelFixture({ clock });
    const [pid, child] = await spawnDriven(set);
    await set.kernel.processes.signal(pid, 'cancel', { graceMs: 5_000, reason: 'enough' });
    clock.advance(4_999);
    expect((await set.kernel.processes.get(pid)).status).toBe('stopping');
    clock.advance(1);
    expect([await outcomeOf(set.kernel, pid), await outcomeOf(set.kernel, child)]).toEqual(['cancelled', 'cancelled']);
    expect(await set.kernel.processes.get(pid)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'cancelled', reason: 'enough', by: 'host' },
    });
    await checkInvariants(set.kernel, set.path, { edited: true });
  });

  it('with a grace of nothing is killed soon', async () => {
    const set = await timedKernelFixture();
    const [pid] = await spawnDriven(set);
    await set.kernel.processes.signal(pid, 'cancel', { graceMs: 0 });
    expect(await outcomeOf(set.kernel, pid)).toBe('cancelled');
  });

  it('whose parent ends goes on with its own reason', async () => {
    const set = await timedKernelFixture();
    const { kernel } = set;
    const [pid, child] = await spawnDriven(set);
    await kernel.processes.signal(child, 'cancel', { graceMs: 60_000, reason: 'first' });
    await kernel.processes.exit(pid);
    expect((await kernel.processes.get(child)).status).toBe('stopping');
    await kernel.processes.signal(child, 'kill', {});
    expect((await kernel.processes.get(child)).outcome?.kind).toBe('killed');
    await checkInvariants(kernel, set.path, { edited: true });
  });

  it('stays stopping over a reopening, and its grace still ends', async () => {
    const clock = manualClock();
    const first = await timedKernelFixture({ clock });
    const [pid] = await spawnDriven(first);
    await first.kernel.processes.signal(pid, 'cancel', { graceMs: 10_000 });
    await first.kernel.shutdown();
    clock.advance(20_000);
    const second = await timedKernelFixture({ store: first.path, clock });
    expect(await outcomeOf(second.kernel, pid)).toBe('cancelled');
  });
});

describe('a tree with an orphan that is stopping', () => {
  it('is killed whole, though the parent of the orphan has ended', async () => {
    const { kernel, edit } = await timedKernelFixture({ clock: manualClock() });
    const root = await kernel.processes.spawn({});
    const parent = await kernel.processes.spawnChild(root, {});
    const orphan = await kernel.processes.spawnChild(parent, {});
    await edit(orphan, { status: 'running', node: 'n_other' });
    await kernel.processes.exit(parent);
    expect((await kernel.processes.get(orphan)).status).toBe('stopping');
    expect((await kernel.processes.kill(root)).delivered).toEqual([root, orphan]);
    expect((await kernel.processes.get(orphan)).status).toBe('killed');
  });

  it('does not reach one that is stopping in another tree', async () => {
    const { kernel, edit } = await timedKernelFixture({ clock: manualClock() });
    const [root, other] = [await kernel.processes.spawn({}), await kernel.processes.spawn({})];
    const parent = await kernel.processes.spawnChild(other, {});
    const orphan = await kernel.processes.spawnChild(parent, {});
    await edit(orphan, { status: 'running', node: 'n_other' });
    await kernel.processes.exit(parent);
    expect((await kernel.processes.kill(root)).delivered).toEqual([root]);
    expect((await kernel.processes.get(orphan)).status).toBe('stopping');
  });
});

describe('a parent’s end', () => {
  it('stops a child that a node runs, with the whole subtree, in the commit of the end', async () => {
    const set = await timedKernelFixture({ clock: manualClock() });
    const { kernel, edit, row } = set;
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, {});
    const below = await kernel.processes.spawnChild(child, { onParentExit: 'reparent' });
    await edit(child, { status: 'running', node: 'n_other' });
    await kernel.processes.exit(root);
    const { exitedAt } = await kernel.processes.get(root);
    expect(await row(child)).toMatchObject({
      status: 'stopping',
      stop: expect.stringContaining(`{"kind":"parent_exited","by":"${root}"`),
      updated_at: exitedAt,
    });
    expect(await kernel.processes.get(below)).toMatchObject({ status: 'killed', outcome: { kind: 'parent_exited' } });
    await checkInvariants(kernel, set.path, { edited: true });
  });
});

describe('a deadline', () => {
  it('is checked with a clock that is an object with methods', async () => {
    class Watch {
      private time = Date.UTC(2030, 0, 1);
      now(): number {
        return this.time;
      }
      advance(ms: number): void {
        this.time += ms;
      }
    }
    const clock = new Watch();
    const { kernel } = await timedKernelFixture({ clock });
    const pid = await kernel.processes.spawn({ deadlineMs: 1_000 });
    clock.advance(1_000);
    expect(await outcomeOf(kernel, pid)).toBe('timed_out');
  });

  it('ends a process as timed_out, by the clock that the caller gave', async () => {
    const clock = manualClock();
    const { kernel, path } = await timedKernelFixture({ clock });
    const pid = await kernel.processes.spawn({ deadlineMs: 1_000 });
    const child = await kernel.processes.spawnChild(pid, {});
    expect((await kernel.processes.get(pid)).deadlineAt).toBe(clock.now() + 1_000);
    clock.advance(999);
    expect((await kernel.processes.get(pid)).status).toBe('created');
    clock.advance(1);
    expect([await outcomeOf(kernel, pid), await outcomeOf(kernel, child)]).toEqual(['timed_out', 'timed_out']);
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'killed', outcome: { by: 'kernel' } });
    await checkInvariants(kernel, path);
  });

  it('gives a process that a node runs the grace first', async () => {
    const clock = manualClock();
    const set = await timedKernelFixture({ clock });
    const [pid] = await spawnDriven(set, { deadlineMs: 1_000 });
    clock.advance(1_000);
    for await (const { type } of set.kernel.events.stream({ pid })) if (type === 'process.stopping') break;
    expect(JSON.parse(`${(await set.row(pid)).stop}`)).toMatchObject({ kind: 'timed_out', by: 'kernel' });
    clock.advance(5_000);
    expect(await outcomeOf(set.kernel, pid)).toBe('timed_out');
  });

  it('is the earliest of wallMs, deadlineMs and the parent’s', async () => {
    const clock = manualClock();
    const { kernel } = await timedKernelFixture({ clock });
    const at = async (pid: Pid) => ((await kernel.processes.get(pid)).deadlineAt ?? 0) - clock.now();
    const root = await kernel.processes.spawn({ budget: { wallMs: 5_000 }, deadlineMs: 9_000 });
    const later = await kernel.processes.spawnChild(root, { deadlineMs: 9_000 });
    const sooner = await kernel.processes.spawnChild(root, { budget: { wallMs: 1_000 } });
    const unlimited = await kernel.processes.spawn({});
    expect([await at(root), await at(later), await at(sooner)]).toEqual([5_000, 5_000, 1_000]);
    expect(await kernel.processes.get(unlimited)).not.toHaveProperty('deadlineAt');
  });

  it('of nothing ends a process soon', async () => {
    const { kernel } = await timedKernelFixture();
    expect(await outcomeOf(kernel, await kernel.processes.spawn({ budget: { wallMs: 0 } }))).toBe('timed_out');
  });

  it('is set and moved by setBudget, within the parent’s', async () => {
    const clock = manualClock();
    const { kernel } = await timedKernelFixture({ clock });
    const root = await kernel.processes.spawn({ deadlineMs: 10_000 });
    const child = await kernel.processes.spawnChild(root, { budget: { wallMs: 1_000 } });
    const start = clock.now();
    await kernel.processes.setBudget(child, { wallMs: 5_000 });
    expect((await kernel.processes.get(child)).deadlineAt).toBe(start + 5_000);
    await kernel.processes.setBudget(child, { wallMs: 50_000 });
    expect((await kernel.processes.get(child)).deadlineAt).toBe(start + 10_000);
    await kernel.processes.setBudget(child, { wallMs: 1 });
    clock.advance(1);
    expect(await outcomeOf(kernel, child)).toBe('timed_out');
    expect((await kernel.processes.get(root)).status).toBe('created');
  });

  it('is that of the process it was spawned under, not that of its parent', async () => {
    const clock = manualClock();
    const { kernel } = await timedKernelFixture({ clock });
    const root = await kernel.processes.spawn({ deadlineMs: 1_000 });
    const moved = await kernel.processes.spawnChild(root, { onParentExit: 'detach' });
    await kernel.processes.exit(root);
    expect((await kernel.processes.get(moved)).parent).toBe(null);
    clock.advance(1_000);
    expect(await outcomeOf(kernel, moved)).toBe('timed_out');
  });

  it('passed while no kernel was open ends the process at the next opening', async () => {
    const clock = manualClock();
    const first = await timedKernelFixture({ clock });
    const pid = await first.kernel.processes.spawn({ deadlineMs: 1_000 });
    await first.kernel.shutdown();
    clock.advance(5_000);
    const second = await timedKernelFixture({ store: first.path, clock });
    expect(await outcomeOf(second.kernel, pid)).toBe('timed_out');
  });
});
