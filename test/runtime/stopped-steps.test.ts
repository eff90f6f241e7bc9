import { describe, expect, it } from 'vitest';
import {
  defineImage,
  defineSteps,
  type Image,
  type Kernel,
  type KernelError,
  type Pid,
  type SpawnSpec,
  type Syscalls,
} from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { type Gate, gate } from '../support/gate.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel } from '../support/kernel.js';
import { manualClock } from '../support/kernel-fixture.js';

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: KernelError) => error.code,
  );

interface Stopped {
  readonly spec?: SpawnSpec;
  readonly stop: (kernel: Kernel, pid: Pid, clock: ReturnType<typeof manualClock>) => Promise<unknown>;
  readonly order: object;
}

/** Everything that stops a process and leaves it a grace. */
const stops: Record<string, Stopped> = {
  cancel: {
    stop: ({ processes }, pid) => processes.cancel(pid, 'enough', { graceMs: 600_000 }),
    order: { kind: 'cancelled', by: 'host', reason: 'enough' },
  },
  deadlineMs: {
    spec: { deadlineMs: 1_000 },
    stop: async (_kernel, _pid, clock) => clock.advance(1_000),
    order: { kind: 'timed_out', by: 'kernel' },
  },
  wallMs: {
    spec: { budget: { wallMs: 1_000 } },
    stop: async (_kernel, _pid, clock) => clock.advance(1_000),
    order: { kind: 'timed_out', by: 'kernel' },
  },
  'an exhausted budget': {
    spec: { budget: { tokens: 1 }, onBudget: 'cancel' },
    stop: ({ processes }, pid) => codeOf(processes.charge(pid, { tokens: 2 })),
    order: { kind: 'budget_exhausted', by: 'kernel', reason: 'tokens' },
  },
};

const { cancel } = stops;
if (cancel === undefined) throw new Error('no cancel');

interface Opened {
  readonly kernel: Kernel;
  readonly path: string;
  readonly pid: Pid;
  stop(): Promise<void>;
}

/** Spawns the image `work`, and stops the process when `begun` is open. */
async function open(image: Image, begun: Gate, { spec = {}, stop }: Stopped): Promise<Opened> {
  const clock = manualClock();
  const path = await newStore();
  const kernel = await openKernel({ store: path, images: [image], clock, durability: 'normal' });
  const pid = await kernel.processes.spawn({ image: 'work', ...spec });
  await begun.opened;
  const stopIt = async () => {
    await stop(kernel, pid, clock);
    await eventually(async () => {
      const { items } = await kernel.events.list({ pid, types: ['process.stopping'] });
      expect(items).toHaveLength(1);
    });
  };
  return { kernel, path, pid, stop: stopIt };
}

describe('a list of steps', () => {
  for (const [name, stopped] of Object.entries(stops)) {
    it(`begins no further step after ${name}, and ends with that reason`, async () => {
      const [begun, goOn] = [gate(), gate()];
      const ran: string[] = [];
      const image = defineSteps({
        name: 'work',
        steps: [
          {
            name: 'one',
            run: async () => {
              begun.open();
              await goOn.opened;
              ran.push('one');
              return 1;
            },
          },
          { name: 'two', run: async () => ran.push('two') },
        ],
      });
      const { kernel, path, pid, stop } = await open(image, begun, stopped);
      await stop();
      goOn.open();
      expect(await kernel.processes.result(pid)).toMatchObject({ status: 'killed', outcome: stopped.order });
      expect(ran).toEqual(['one']);
      // What was under way when it was stopped is kept.
      const { items } = await kernel.events.list({ pid, types: ['step.started', 'step.completed'] });
      expect(items.map(({ type, data }) => [type, (data as { name: string }).name])).toEqual([
        ['step.started', 'one'],
        ['step.completed', 'one'],
      ]);
      await checkInvariants(kernel, path);
    });
  }

  it('whose last step is under way ends with its result', async () => {
    const [begun, goOn] = [gate(), gate()];
    const last = async () => {
      begun.open();
      await goOn.opened;
      return 'all';
    };
    const image = defineSteps({ name: 'work', steps: [{ name: 'last', run: last }] });
    const { kernel, pid, stop } = await open(image, begun, cancel);
    await stop();
    goOn.open();
    const outcome = { kind: 'completed', stop: cancel.order };
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'all', outcome });
    expect((await kernel.processes.get(pid)).outcome).toEqual(outcome);
  });

  it('tries no step again', async () => {
    const [begun, goOn] = [gate(), gate()];
    let attempts = 0;
    const fails = async () => {
      attempts++;
      begun.open();
      await goOn.opened;
      throw new Error('no');
    };
    const retry = { attempts: 5, baseMs: 0 };
    const image = defineSteps({ name: 'work', steps: [{ name: 'fails', run: fails, retry }] });
    const { kernel, pid, stop } = await open(image, begun, cancel);
    await stop();
    goOn.open();
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'killed', outcome: { kind: 'cancelled' } });
    expect(attempts).toBe(1);
  });

  it('has no step that runs after a stop', async () => {
    const cleanup = { name: 'tidy', run: () => 1, cleanup: true } as never;
    await expect(openKernel({ images: [defineSteps({ name: 'work', steps: [cleanup] })] })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  });
});

describe('ctx.step of a process that is being stopped', () => {
  for (const [name, stopped] of Object.entries(stops)) {
    it(`runs only what cleans up after ${name}, and the result of the body is kept`, async () => {
      const begun = gate();
      const ran: string[] = [];
      const run = async (ctx: Syscalls) => {
        await ctx.step('before', () => ran.push('before'));
        begun.open();
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
        return [
          await codeOf(ctx.step('after', () => ran.push('after'))),
          await codeOf(ctx.step('tidy', () => ran.push('tidy'), { cleanup: true })),
          await codeOf(ctx.step('not', () => ran.push('not'), { cleanup: false })),
        ];
      };
      const { kernel, path, pid, stop } = await open(defineImage({ name: 'work', run }), begun, stopped);
      await stop();
      expect(await kernel.processes.result(pid)).toMatchObject({
        status: 'exited',
        value: ['CANCELLED', 'done', 'CANCELLED'],
        outcome: { kind: 'completed', stop: stopped.order },
      });
      expect(ran).toEqual(['before', 'tidy']);
      await checkInvariants(kernel, path);
    });
  }

  it('a body that throws ends with the reason of the stop', async () => {
    const begun = gate();
    const run = async (ctx: Syscalls) => {
      begun.open();
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      await ctx.step('after', () => 1);
    };
    const { kernel, pid, stop } = await open(defineImage({ name: 'work', run }), begun, cancel);
    await stop();
    expect((await kernel.processes.result(pid)).outcome).toEqual(cancel.order);
  });

  it('stops with its parent, which is told in the outcome', async () => {
    const begun = gate();
    const run = async (ctx: Syscalls) => {
      begun.open();
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      return codeOf(ctx.step('after', () => 1));
    };
    const kernel = await openKernel({ images: [defineImage({ name: 'work', run })] });
    const parent = await kernel.processes.spawn();
    const pid = await kernel.processes.spawnChild(parent, { image: 'work' });
    await begun.opened;
    await kernel.processes.exit(parent);
    expect(await kernel.processes.result(pid)).toMatchObject({
      value: 'CANCELLED',
      outcome: { kind: 'completed', stop: { kind: 'parent_exited', by: parent } },
    });
  });
});

describe('a body whose deadline has passed before any timer found it', () => {
  it('is refused its next call, and is being stopped from then on', async () => {
    const clock = manualClock();
    const run = async (ctx: Syscalls) => {
      clock.advance(1_000);
      return [
        await codeOf(ctx.charge({ tokens: 1 })),
        await codeOf(ctx.charge({ tokens: 1 })),
        await codeOf(ctx.step('go on', () => 1)),
        await codeOf(ctx.step('tidy', () => 1, { cleanup: true })),
        await codeOf(ctx.spawnChild({})),
      ];
    };
    const kernel = await openKernel({ images: [defineImage({ name: 'work', run })], clock });
    const pid = await kernel.processes.spawn({ image: 'work', deadlineMs: 1_000 });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'exited',
      value: ['CANCELLED', 'done', 'CANCELLED', 'done', 'TREE_STOPPING'],
      outcome: { kind: 'completed', stop: { kind: 'timed_out', by: 'kernel' } },
    });
  });

  it('keeps the result that it returns', async () => {
    const clock = manualClock();
    const run = async () => {
      clock.advance(1_000);
      return 'late';
    };
    const kernel = await openKernel({ images: [defineImage({ name: 'work', run })], clock });
    const pid = await kernel.processes.spawn({ image: 'work', deadlineMs: 1_000 });
    expect(await kernel.processes.result(pid)).toMatchObject({
      value: 'late',
      outcome: { kind: 'completed', stop: { kind: 'timed_out' } },
    });
  });

  it('begins no further step of a list', async () => {
    const clock = manualClock();
    const ran: string[] = [];
    const one = {
      name: 'one',
      run: () => {
        clock.advance(1_000);
        return ran.push('one');
      },
    };
    const image = defineSteps({ name: 'work', steps: [one, { name: 'two', run: () => ran.push('two') }] });
    const kernel = await openKernel({ images: [image], clock });
    const pid = await kernel.processes.spawn({ image: 'work', deadlineMs: 1_000 });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'killed', outcome: { kind: 'timed_out' } });
    expect(ran).toEqual(['one']);
  });
});
