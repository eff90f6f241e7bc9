import { describe, expect, it } from 'vitest';
import { defineImage, type Kernel, type KernelOptions, type Pid, type Syscalls } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { gate } from '../support/gate.js';
import { openKernel, refusal } from '../support/kernel.js';
import { type KernelFixture, kernelFixture } from '../support/kernel-fixture.js';
import { nodesIn } from '../support/node-rows.js';

type Body = (ctx: Syscalls) => Promise<unknown>;

function image(run: Body, more: object = {}) {
  return defineImage({ name: 'risky', ...more, run: run as (ctx: Syscalls) => Promise<null> });
}

const never = () => new Promise<never>(() => undefined);

/** Is at work until its kernel shuts down. */
function work({ signal }: Syscalls): Promise<unknown> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(null)));
}

/** A store with processes of the image `risky` that no kernel runs yet. */
async function riskyFixture(): Promise<KernelFixture & { spawn(recoveries?: number): Promise<Pid> }> {
  const set = await kernelFixture({ images: [image(never)] });
  const spawn = async (recoveries = 0) => {
    const pid = await set.kernel.processes.spawn({ image: 'risky' });
    await set.edit(pid, { recoveries });
    return pid;
  };
  return { ...set, spawn };
}

let deadNodes = 0;

/** Makes the process one that a program ran which is gone since. */
async function dieWith({ path, kernel, edit }: KernelFixture, pid: Pid, columns: object = {}): Promise<void> {
  const nodes = nodesIn(path);
  const node = `n_dead${++deadNodes}`;
  const self = await openKernel({ store: path });
  const { host } = (await nodes.get(self.nodeId)) as { host: string };
  await nodes.addElsewhere(node, { host: JSON.stringify({ ...JSON.parse(host), startTicks: '1' }) });
  await self.shutdown();
  expect((await kernel.processes.get(pid)).status).toBe('runnable');
  await edit(pid, { status: 'running', node, started_at: 1, ...columns });
  // Any kernel gives the node up; this one has no image, and claims nothing.
  await (await openKernel({ store: path })).shutdown();
}

function openRisky(
  { path }: KernelFixture,
  run: Body,
  more: object = {},
  options: KernelOptions = {},
): Promise<Kernel> {
  return openKernel({ store: path, images: [image(run, more)], ...options });
}

describe('a start counts as lost', () => {
  it('when its node went while the process was running', async () => {
    const set = await riskyFixture();
    const pid = await set.spawn();
    await dieWith(set, pid);
    expect(await set.row(pid)).toMatchObject({ status: 'runnable', recoveries: 1 });
    await dieWith(set, pid);
    expect(await set.row(pid)).toMatchObject({ status: 'runnable', recoveries: 2 });
  });

  it('but not while it was waiting or paused', async () => {
    const set = await riskyFixture();
    const wait = JSON.stringify({ kind: 'message', what: '*', since: 1, on: ['message:*'] });
    for (const columns of [
      { status: 'waiting', wait },
      { status: 'paused', previous: 'running' },
    ]) {
      const pid = await set.spawn();
      await dieWith(set, pid, columns);
      expect(await set.row(pid)).toMatchObject({ node: null, recoveries: 0 });
    }
  });

  it('but not when its kernel is shut down, which ends the count', async () => {
    const set = await riskyFixture();
    const pid = await set.spawn(1);
    for (let opened = 0; opened < 7; opened++) {
      const kernel = await openRisky(set, never);
      await eventually(async () => expect((await set.row(pid)).status).toBe('running'));
      await kernel.shutdown({ graceMs: 0 });
      expect(await set.row(pid)).toMatchObject({ status: 'runnable', recoveries: 0 });
    }
  });
});

describe('the count of lost starts', () => {
  it('is kept by a start and by a call that has only begun, and ended by an answered one', async () => {
    const set = await riskyFixture();
    const pid = await set.spawn(3);
    const begun = gate();
    const answer = gate();
    const answered = gate();
    await openRisky(set, async (ctx) => {
      await ctx.step('slow', async () => {
        begun.open();
        await answer.opened;
      });
      answered.open();
      await work(ctx);
    });
    await begun.opened;
    expect(await set.row(pid)).toMatchObject({ status: 'running', recoveries: 3 });
    answer.open();
    await answered.opened;
    expect(await set.row(pid)).toMatchObject({ status: 'running', recoveries: 0 });
  });

  it('is ended by a wait', async () => {
    const set = await riskyFixture();
    const pid = await set.spawn(3);
    await openRisky(set, (ctx) => ctx.receive());
    await eventually(async () => expect(await set.row(pid)).toMatchObject({ status: 'waiting', recoveries: 0 }));
  });

  it('is ended by a pause', async () => {
    const set = await riskyFixture();
    const pid = await set.spawn(3);
    const kernel = await openRisky(set, work);
    await eventually(async () => expect(await set.row(pid)).toMatchObject({ status: 'running', recoveries: 3 }));
    await kernel.processes.pause(pid);
    expect(await set.row(pid)).toMatchObject({ status: 'paused', recoveries: 0 });
  });
});

describe('processes that have lost two starts or more', () => {
  it('run one at a time on a node, beside others', async () => {
    const set = await riskyFixture();
    const suspects = [await set.spawn(2), await set.spawn(4), await set.spawn(3)];
    const others = [await set.spawn(0), await set.spawn(1)];
    const gates = new Map([...suspects, ...others].map((pid) => [pid, gate()]));
    const began: Pid[] = [];
    await openRisky(set, async (ctx) => {
      began.push(ctx.pid);
      await gates.get(ctx.pid)?.opened;
      await ctx.step('got on', () => 1);
      await work(ctx);
    });
    const runningSuspects = async () => {
      const rows = await Promise.all(suspects.map((pid) => set.row(pid)));
      return suspects.filter((pid, index) => Number(rows[index]?.recoveries) > 0 && began.includes(pid));
    };
    await eventually(() => expect(began).toEqual(expect.arrayContaining(others)));
    for (let round = 1; round <= suspects.length; round++) {
      await eventually(() => expect(began.filter((pid) => suspects.includes(pid))).toHaveLength(round));
      const [running, ...more] = await runningSuspects();
      expect(more).toEqual([]);
      gates.get(running ?? '')?.open();
      await eventually(async () => expect((await set.row(running ?? '')).recoveries).toBe(0));
    }
  });

  it('make way when they wait, are paused or end', async () => {
    const set = await riskyFixture();
    const suspects = [await set.spawn(2), await set.spawn(2), await set.spawn(2), await set.spawn(2)];
    const began: Pid[] = [];
    const ends = gate();
    const kernel = await openRisky(set, async (ctx) => {
      began.push(ctx.pid);
      if (began.length === 1) return ctx.receive();
      if (began.length === 2) await ends.opened;
      else await work(ctx);
      return null;
    });
    await eventually(() => expect(began).toHaveLength(2));
    ends.open();
    await eventually(() => expect(began).toHaveLength(3));
    await kernel.processes.pause(began[2] ?? '');
    await eventually(() => expect(began).toHaveLength(4));
    expect([...began].sort()).toEqual([...suspects].sort());
  });
});

describe('a process whose runs are lost with their nodes again and again', () => {
  it('fails as poisoned with the step that was under way, and the kernel says so', async () => {
    const set = await riskyFixture();
    const pid = await set.spawn(4);
    const told: unknown[] = [];
    const begun = gate();
    const dying = await openRisky(set, async (ctx) => {
      await ctx.step('fine', () => 1);
      await ctx.step('explode', async () => {
        begun.open();
        await never();
      });
    });
    await begun.opened;
    await dying.shutdown({ graceMs: 0 });
    await set.edit(pid, { recoveries: 4 });
    await dieWith(set, pid);
    expect(await set.row(pid)).toMatchObject({ status: 'runnable', recoveries: 5 });
    const logger = { warn: () => undefined, error: (facts: object) => told.push(facts) };
    const kernel = await openRisky(set, never, {}, { logger });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: {
        kind: 'failed',
        reason: 'poisoned',
        evidence: { kind: 'poisoned', recoveries: 5, step: 'step explode #1' },
      },
      message: expect.stringContaining('step explode #1'),
    });
    await eventually(() => expect(told).toEqual([{ pid, image: 'risky@1', recoveries: 5, step: 'step explode #1' }]));
  });

  it('is run once more with one start less', async () => {
    const set = await riskyFixture();
    const pid = await set.spawn(4);
    const kernel = await openRisky(set, async () => 'done');
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'done' });
  });

  it('has as many starts as its image says', async () => {
    const set = await riskyFixture();
    const [two, one] = [await set.spawn(2), await set.spawn(1)];
    const kernel = await openRisky(set, async () => 'done', { recoveriesMax: 2 });
    expect(await kernel.processes.result(two)).toMatchObject({ outcome: { reason: 'poisoned' } });
    expect(await kernel.processes.result(one)).toMatchObject({ value: 'done' });
    for (const recoveriesMax of [0, 1.5, '5']) {
      const register = async () => kernel.images.register(image(never, { version: '2', recoveriesMax }));
      expect((await refusal(register())).code).toBe('INVALID_INPUT');
    }
  });
});
