import { describe, expect, it } from 'vitest';
import { acts, looks } from '../support/face-calls.js';
import type { FaceFamily } from '../support/face-family.js';
import { faceFamily } from '../support/face-family.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, refusal } from '../support/kernel.js';
import { kernelFixture, manualClock } from '../support/kernel-fixture.js';

/** A family on a kernel without timers, whose process has lived for as long as it may. */
async function expired(spec: object = { deadlineMs: 1_000 }): Promise<FaceFamily> {
  const clock = manualClock();
  const set = await faceFamily({ clock }, spec);
  clock.advance(1_000);
  return set;
}

const timedOut = { status: 'killed', outcome: { kind: 'timed_out', by: 'kernel' } };

const hostActs: Record<string, (set: FaceFamily) => Promise<unknown>> = {
  spawnChild: ({ kernel, pid }) => kernel.processes.spawnChild(pid, {}),
  fork: ({ kernel, pid }) => kernel.processes.fork(pid, {}),
  exec: ({ kernel, pid }) => kernel.processes.exec(pid, { image: 'worker' }),
  exit: ({ kernel, pid }) => kernel.processes.exit(pid, { result: 'late' }),
  complete: ({ kernel, pid }) => kernel.processes.complete(pid, 'late'),
  progress: ({ kernel, pid }) => kernel.processes.progress(pid, { done: 1 }),
  wait: ({ kernel, pid, ended }) => kernel.processes.wait(pid, ended),
  chdir: ({ kernel, pid }) => kernel.processes.chdir(pid, '.'),
  charge: ({ kernel, pid }) => kernel.processes.charge(pid, { tokens: 1 }),
  'memory.create': ({ kernel, pid }) => kernel.memory.create(pid, { type: 'artifact', payload: 1 }),
  'capabilities.require': ({ kernel, pid }) => kernel.capabilities.require(pid, 'call', 'tool:echo'),
};

describe('on a kernel without timers, after the deadline of a process', () => {
  for (const [name, act] of Object.entries(acts)) {
    it(`${name} through its face is refused, and stops it`, async () => {
      const set = await expired();
      const answer = await act(set.face, set).catch((error) => error.code);
      expect(answer).toBe('CANCELLED');
      for (const pid of [set.pid, set.child]) expect(await set.kernel.processes.get(pid)).toMatchObject(timedOut);
      expect((await set.kernel.processes.list()).items).toHaveLength(3);
      await checkInvariants(set.kernel, set.path);
    });
  }

  for (const [name, look] of Object.entries(looks)) {
    // These decide from memory, have no effect, and never throw.
    if (name === 'capabilities.check' || name === 'capabilities.explain') continue;
    it(`${name} through its face is refused, and stops it`, async () => {
      const set = await expired();
      expect((await refusal(look(set.face, set))).code).toBe('CANCELLED');
      expect(await set.kernel.processes.get(set.pid)).toMatchObject(timedOut);
    });
  }

  for (const [name, act] of Object.entries(hostActs)) {
    it(`${name} by the host for it is refused, and stops it`, async () => {
      const set = await expired();
      expect(await refusal(act(set))).toEqual({ code: 'CANCELLED', facts: { pid: set.pid, reason: 'timed_out' } });
      expect(await set.kernel.processes.get(set.pid)).toMatchObject(timedOut);
    });
  }

  it('the next call finds it ended', async () => {
    const { face } = await expired({ budget: { wallMs: 1_000 } });
    expect((await refusal(face.charge({ tokens: 1 }))).code).toBe('CANCELLED');
    expect((await refusal(face.charge({ tokens: 1 }))).code).toBe('PROCESS_TERMINATED');
  });

  it('a child is bound by the deadline of its parent', async () => {
    const { kernel, pid, child } = await expired();
    expect((await refusal(kernel.as(child).spawnChild({}))).code).toBe('CANCELLED');
    expect(await kernel.processes.get(child)).toMatchObject(timedOut);
    // The parent is stopped by its own call.
    expect((await kernel.processes.get(pid)).status).toBe('created');
    expect((await refusal(kernel.processes.spawnChild(pid, {}))).code).toBe('CANCELLED');
    expect(await kernel.processes.get(pid)).toMatchObject(timedOut);
  });

  it('one that a node drives is stopping, and may use its grace', async () => {
    const set = await expired();
    await set.edit(set.pid, { status: 'running', node: 'n_other' });
    expect((await refusal(set.face.charge({ tokens: 1 }))).code).toBe('CANCELLED');
    expect((await set.kernel.processes.get(set.pid)).status).toBe('stopping');
    await set.face.charge({ tokens: 1 });
    await set.kernel.processes.exit(set.pid, { result: 'just in time' });
    expect(await set.kernel.processes.result(set.pid)).toMatchObject({
      status: 'exited',
      value: 'just in time',
      outcome: { kind: 'completed', stop: { kind: 'timed_out', by: 'kernel' } },
    });
  });

  it('what waits is woken: a receive, and a wait for a child', async () => {
    for (const call of ['receive', 'wait'] as const) {
      const clock = manualClock();
      const { kernel } = await kernelFixture({ clock });
      const pid = await kernel.processes.spawn({ deadlineMs: 1_000 });
      const child = await kernel.processes.spawnChild(pid, {});
      const face = kernel.as(pid);
      const answer = refusal(call === 'receive' ? face.receive() : face.wait(child));
      await kernel.events.list();
      clock.advance(1_000);
      expect((await answer).code).toBe('CANCELLED');
      expect(await kernel.processes.get(pid)).toMatchObject(timedOut);
    }
  });
});

describe('on a kernel without timers, whoever waits for a process with a deadline', () => {
  it('is told of its end, whether it had passed already or passes meanwhile', async () => {
    const clock = manualClock();
    const { kernel, path } = await kernelFixture({ clock });
    const parent = await kernel.processes.spawn({});
    const spawn = () => kernel.processes.spawnChild(parent, { deadlineMs: 1_000 });
    const [early, late, other] = [await spawn(), await spawn(), await spawn()];
    const waiting = [kernel.as(parent).wait(early), kernel.processes.result(late)];
    await kernel.events.list();
    clock.advance(1_000);
    for (const { outcome } of await Promise.all(waiting)) expect(outcome.kind).toBe('timed_out');
    expect((await kernel.as(parent).waitAny([other])).outcome.kind).toBe('timed_out');
    expect((await kernel.processes.get(parent)).status).toBe('created');
    await checkInvariants(kernel, path);
  });

  it('of a kernel that only reads still waits', async () => {
    const clock = manualClock();
    const { kernel, path } = await kernelFixture({ clock });
    const pid = await kernel.processes.spawn({ deadlineMs: 1_000 });
    clock.advance(1_000);
    const reader = await openKernel({ store: path, readOnly: true, clock });
    expect((await refusal(reader.processes.result(pid, { timeoutMs: 20 }))).code).toBe('WAIT_TIMEOUT');
    expect((await refusal(reader.as(pid).children())).code).toBe('CANCELLED');
    expect((await kernel.processes.get(pid)).status).toBe('created');
  });
});

describe('before its deadline', () => {
  it('a process acts and looks, and the host can give it more time', async () => {
    const clock = manualClock();
    const { kernel, face, pid } = await faceFamily({ clock }, { budget: { wallMs: 1_000 } });
    clock.advance(999);
    await face.charge({ tokens: 1 });
    await face.children();
    await kernel.processes.setBudget(pid, { wallMs: 2_000 });
    clock.advance(1_000);
    await face.charge({ tokens: 1 });
    clock.advance(1);
    expect((await refusal(face.charge({ tokens: 1 }))).code).toBe('CANCELLED');
  });

  it('what was begun is settled after it', async () => {
    const clock = manualClock();
    const { face } = await faceFamily({ clock }, { deadlineMs: 1_000 });
    const reservation = await face.reserve({ tokens: 5 });
    clock.advance(1_000);
    expect((await face.settle(reservation, { tokens: 3 })).tokens.used).toBe(3);
  });
});
