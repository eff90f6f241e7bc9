import { describe, expect, it } from 'vitest';
import {
  defineImage,
  defineSteps,
  defineSupervisor,
  type Image,
  type ImageSpec,
  type Kernel,
  type KernelOptions,
  type Pid,
  type Syscalls,
} from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { gate } from '../support/gate.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { openRawTables } from '../support/storage/raw-tables.js';

type Body = (ctx: Syscalls) => Promise<unknown>;

/** An image of the name `changing`, whose body is the same function for the type checker whatever it returns. */
function changing(
  build: string | undefined,
  run: Body,
  more: Partial<Omit<ImageSpec, 'input' | 'output'>> = {},
): Image {
  return defineImage({
    name: 'changing',
    ...(build === undefined ? {} : { build }),
    ...more,
    run: run as (ctx: Syscalls) => Promise<null>,
  });
}

const never = () => new Promise<never>(() => undefined);

/** A process that has one answered step `a` and a live child; its kernel is closed. */
async function interrupted(store: string, more: object = {}): Promise<{ pid: Pid; child: Pid }> {
  const reached = gate();
  const first = changing('one', async (ctx) => {
    await ctx.step('a', () => 'from a');
    await ctx.spawnChild({ image: 'base', name: 'kept' });
    reached.open();
    await never();
  });
  const kernel = await openKernel({ store, images: [first] });
  const pid = await kernel.processes.spawn({ image: 'changing', ...more });
  await reached.opened;
  const [child] = await kernel.processes.children(pid);
  await kernel.shutdown({ graceMs: 0 });
  return { pid, child: child?.pid ?? '' };
}

const asksForB: Body = async (ctx) => {
  await ctx.step('b', () => 'from b');
  return 'bad';
};
/** The way of the first build, to its end. */
const goesOn: Body = async (ctx) => {
  const a = await ctx.step('a', () => 'never run again');
  const child = await ctx.spawnChild({ image: 'base', name: 'kept' });
  return { a, child };
};

async function openWith(store: string, image: Image, options: KernelOptions = {}): Promise<Kernel> {
  return openKernel({ store, images: [image], ...options });
}

async function untilParked(kernel: Kernel, pid: Pid): Promise<void> {
  await eventually(async () => expect((await kernel.processes.get(pid)).wait?.kind).toBe('code'));
}

/** A process that waits for code because the build `two` could not replay its journal, with the kernel that tried. */
async function parked(more: object = {}): Promise<{ store: string; kernel: Kernel; pid: Pid; child: Pid }> {
  const store = await newStore();
  const { pid, child } = await interrupted(store, more);
  const kernel = await openWith(store, changing('two', asksForB));
  await untilParked(kernel, pid);
  return { store, kernel, pid, child };
}

describe('a body that goes another way than its journal', () => {
  it('leaves its process waiting for code, with everything it has', async () => {
    const store = await newStore();
    const { pid, child } = await interrupted(store);
    const row = () => openRawTables(store).find<Record<string, unknown>>('processes', { pid });
    const { fence } = (await row()) as { fence: number };
    const host = await openKernel({ store, node: { executor: false } });
    const journal = await host.processes.journal(pid);
    await host.as(child).send(pid, 'kept');
    const kernel = await openWith(store, changing('two', asksForB));
    await untilParked(kernel, pid);
    const record = await kernel.processes.get(pid);
    expect(record).toMatchObject({ status: 'waiting', image: 'changing@1' });
    expect(record.node).toBeUndefined();
    expect(record.outcome).toBeUndefined();
    expect(record.wait).toEqual({
      kind: 'code',
      what: 'changing@1',
      since: expect.any(Number),
      recorded: 'step a #1',
      asked: 'step b #1',
      builds: ['two'],
    });
    // One more for the park; the release by shutdown came before.
    expect(await row()).toMatchObject({ fence: fence + 1, node: null, failed_builds: '["two"]' });
    expect(await kernel.processes.journal(pid)).toEqual(journal);
    expect((await kernel.processes.get(child)).status).toBe('created');
    expect(await openRawTables(store).rows('messages')).toHaveLength(1);
    expect((await kernel.processes.list({ waiting: 'code' })).items.map((item) => item.pid)).toEqual([pid]);
    const { items } = await kernel.audit.list({ action: 'process.park' });
    expect(items).toMatchObject([{ target: pid, outcome: 'ok' }]);
    await checkInvariants(kernel, store);
  });

  it('says so to the logger of the host', async () => {
    const store = await newStore();
    const { pid } = await interrupted(store);
    const told: unknown[] = [];
    const logger = { warn: (facts: object) => told.push(facts), error: (facts: object) => told.push(facts) };
    await openWith(store, changing('two', asksForB), { logger });
    await eventually(() =>
      expect(told).toContainEqual({
        pid,
        image: 'changing@1',
        build: 'two',
        recorded: 'step a #1',
        asked: 'step b #1',
      }),
    );
  });

  it('is not run again by the same build, and goes on with a rollback, open or opening', async () => {
    const { store, kernel, pid, child } = await parked();
    await kernel.shutdown();
    const again = await openWith(store, changing('two', asksForB));
    await again.idle();
    expect((await again.processes.get(pid)).wait).toMatchObject({ kind: 'code', builds: ['two'] });
    const rollback = await openWith(store, changing('one', goesOn));
    expect(await rollback.processes.result(pid)).toMatchObject({ status: 'exited', value: { a: 'from a', child } });
    await checkInvariants(rollback, store);
  });

  it('is claimed by a node that is open already and has another build', async () => {
    const store = await newStore();
    const { pid, child } = await interrupted(store);
    // It has the version when it is registered there, after the process was parked; the other node is open all the time.
    const bad = await openWith(store, changing('two', asksForB));
    await untilParked(bad, pid);
    const good = await openKernel({ store });
    good.images.register(changing('three', goesOn));
    expect(await good.processes.result(pid)).toMatchObject({ value: { a: 'from a', child } });
  });

  it('is claimed by an open node when the build of another one has failed', async () => {
    const store = await newStore();
    const { pid, child } = await interrupted(store);
    const good = await openKernel({ store, node: { pollMs: 20, concurrency: 1 } });
    const busy = gate();
    good.images.register(defineImage({ name: 'busy', run: async () => void (await busy.opened) }));
    const blocker = await good.processes.spawn({ image: 'busy' });
    await eventually(async () => expect((await good.processes.get(blocker)).status).toBe('running'));
    // Its only slot is taken: the other node is the one that claims the process first.
    good.images.register(changing('one', goesOn));
    const bad = await openWith(store, changing('two', asksForB));
    await untilParked(bad, pid);
    busy.open();
    expect(await good.processes.result(pid)).toMatchObject({ value: { a: 'from a', child } });
  });

  it('collects the builds that failed', async () => {
    const { store, kernel, pid } = await parked();
    await kernel.shutdown();
    const third = await openWith(
      store,
      changing('three', async (ctx) => ctx.step('c', () => 1)),
    );
    await eventually(async () =>
      expect((await third.processes.get(pid)).wait).toMatchObject({ asked: 'step c #1', builds: ['two', 'three'] }),
    );
  });

  it('parks when it makes its calls in another order', async () => {
    const store = await newStore();
    const { pid } = await interrupted(store);
    const kernel = await openWith(
      store,
      changing('swapped', async (ctx) => {
        await ctx.spawnChild({ image: 'base', name: 'kept' });
        await ctx.step('a', () => 'too late');
      }),
    );
    await untilParked(kernel, pid);
    const asked = 'spawnChild base #1';
    expect((await kernel.processes.get(pid)).wait).toMatchObject({ recorded: 'step a #1', asked });
    expect(await kernel.processes.children(pid)).toHaveLength(1);
  });

  it('parks when it ends, or throws, before it has made all recorded calls', async () => {
    for (const [build, body, asked] of [
      ['ends', async () => 'early', 'the end of the body'],
      ['throws', () => Promise.reject(new Error('no database')), 'the end of the body: no database'],
    ] as const) {
      const store = await newStore();
      const { pid } = await interrupted(store);
      const kernel = await openWith(store, changing(build, body));
      await untilParked(kernel, pid);
      expect((await kernel.processes.get(pid)).wait).toMatchObject({ recorded: 'step a #1', asked, builds: [build] });
    }
  });

  it('fails as before when it throws after all recorded calls', async () => {
    const store = await newStore();
    const { pid } = await interrupted(store);
    const kernel = await openWith(
      store,
      changing('throws', async (ctx) => {
        await goesOn(ctx);
        throw new Error('too late');
      }),
    );
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'failed', message: 'too late' });
  });

  it('ends with the reason of its stop when it is being stopped', async () => {
    const store = await newStore();
    const { pid } = await interrupted(store);
    const entered = gate();
    const kernel = await openWith(
      store,
      changing('two', async (ctx) => {
        entered.open();
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
        await ctx.step('b', () => 1, { cleanup: true });
      }),
    );
    await entered.opened;
    await kernel.processes.cancel(pid, 'enough');
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'killed', outcome: { kind: 'cancelled' } });
  });
});

describe('the build of an image', () => {
  it('is a hash of the text of its functions where the image does not say it', async () => {
    const store = await newStore();
    const reached = gate();
    const first = changing(undefined, async (ctx) => {
      await ctx.step('a', () => 'from a');
      reached.open();
      await never();
    });
    const kernel = await openWith(store, first);
    const pid = await kernel.processes.spawn({ image: 'changing' });
    await reached.opened;
    await kernel.shutdown({ graceMs: 0 });
    const bad = await openWith(store, changing(undefined, asksForB));
    await untilParked(bad, pid);
    const builds = (await bad.processes.get(pid)).wait?.builds;
    expect(builds).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)]);
    await bad.shutdown();
    // The same text is the same build, in another program too.
    const same = await openWith(store, changing(undefined, asksForB));
    await same.idle();
    expect((await same.processes.get(pid)).wait?.builds).toEqual(builds);
    await same.shutdown();
    const good = await openWith(
      store,
      changing(undefined, async (ctx) => ctx.step('a', () => 'never run again')),
    );
    expect(await good.processes.result(pid)).toMatchObject({ value: 'from a' });
  });

  it('is refused where it is no text', async () => {
    const kernel = await openKernel({ node: { executor: false } });
    const register = async (build: unknown) => kernel.images.register(changing(build as string, goesOn));
    expect((await refusal(register(7))).code).toBe('INVALID_INPUT');
    expect((await refusal(register('b'.repeat(1_000)))).code).toBe('INVALID_INPUT');
    await register('ok');
  });
});

describe('lists of steps and supervisors', () => {
  it('park when a step is renamed, and go on under its old name', async () => {
    const store = await newStore();
    const reached = gate();
    const list = (first: string, hold: boolean) =>
      defineSteps({
        name: 'list',
        steps: [
          { name: first, run: () => 1 },
          {
            name: 'add',
            run: async (_ctx, state) => {
              reached.open();
              return hold ? never() : Number(state) + 1;
            },
          },
        ],
      });
    const kernel = await openWith(store, list('begin', true));
    const pid = await kernel.processes.spawn({ image: 'list' });
    await reached.opened;
    await kernel.shutdown({ graceMs: 0 });
    const renamed = await openWith(store, list('start', false));
    await untilParked(renamed, pid);
    expect((await renamed.processes.get(pid)).wait).toMatchObject({
      recorded: 'step begin #1',
      asked: 'step start #1',
    });
    await renamed.shutdown();
    const good = await openWith(store, list('begin', false));
    expect(await good.processes.result(pid)).toMatchObject({ status: 'exited', value: 2 });
  });

  it('park when their children are others, and keep those they have', async () => {
    const store = await newStore();
    const team = (...images: string[]) =>
      defineSupervisor({
        name: 'team',
        strategy: 'one_for_one',
        intensity: 1,
        periodMs: 1_000,
        children: images.map((image) => ({ name: image, image, restart: 'temporary' as const })),
      });
    const members = ['left', 'right'].map((name) =>
      defineImage({ name, run: async (ctx) => void (await ctx.waitSignal('end')) }),
    );
    const kernel = await openKernel({ store, images: [team('left', 'right'), ...members] });
    const pid = await kernel.processes.spawn({ image: 'team' });
    await eventually(async () => expect((await kernel.processes.get(pid)).wait?.kind).toBe('child'));
    const before = (await kernel.processes.children(pid)).map((child) => child.pid);
    await kernel.shutdown({ graceMs: 0 });
    const bad = await openKernel({ store, images: [team('right', 'left'), ...members] });
    await untilParked(bad, pid);
    const statuses = (await bad.processes.children(pid)).map((child) => [child.pid, child.outcome]);
    expect(statuses).toEqual(before.map((child) => [child, undefined]));
    await bad.shutdown({ graceMs: 0 });
    const good = await openKernel({ store, images: [team('left', 'right'), ...members] });
    await eventually(async () => expect((await good.processes.get(pid)).wait?.kind).toBe('child'));
    expect((await good.processes.children(pid)).map((child) => child.pid)).toEqual(before);
  });
});

describe('a process that waits for code', () => {
  it('can be cancelled, killed and given another program', async () => {
    const cancelled = await parked();
    await cancelled.kernel.processes.cancel(cancelled.pid, 'enough');
    expect(await cancelled.kernel.processes.result(cancelled.pid)).toMatchObject({ outcome: { kind: 'cancelled' } });
    const killed = await parked();
    await killed.kernel.processes.kill(killed.pid);
    expect(await killed.kernel.processes.result(killed.pid)).toMatchObject({ outcome: { kind: 'killed' } });
    const execed = await parked();
    await execed.kernel.processes.exec(execed.pid, { image: 'changing' });
    expect(await execed.kernel.processes.result(execed.pid)).toMatchObject({ status: 'exited', value: 'bad' });
  });

  it('is stopped at its deadline', async () => {
    const { store, kernel, pid } = await parked({ deadlineMs: 3_600_000 });
    const { deadlineAt } = await kernel.processes.get(pid);
    expect(await openRawTables(store).find('processes', { pid })).toMatchObject({ alarm_at: deadlineAt });
    await kernel.processes.setBudget(pid, { wallMs: 1 });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'killed', outcome: { kind: 'timed_out' } });
  });

  it('stays paused until it is resumed, and waits for code again then', async () => {
    const { store, kernel, pid, child } = await parked();
    await kernel.processes.signal(pid, 'pause', { tree: false });
    await kernel.shutdown();
    const good = await openWith(store, changing('one', goesOn));
    await good.idle();
    expect((await good.processes.get(pid)).status).toBe('paused');
    await good.processes.resume(pid);
    expect(await good.processes.result(pid)).toMatchObject({ value: { a: 'from a', child } });
  });

  it('waits for code behind its pause when it was paused while its body ran', async () => {
    const store = await newStore();
    const { pid, child } = await interrupted(store);
    const entered = gate();
    const onwards = gate();
    const bad = await openWith(
      store,
      changing('two', async (ctx) => {
        entered.open();
        await onwards.opened;
        await ctx.step('b', () => 1);
      }),
    );
    await entered.opened;
    await bad.processes.signal(pid, 'pause', { tree: false });
    onwards.open();
    await untilParked(bad, pid);
    expect((await bad.processes.get(pid)).status).toBe('paused');
    await bad.processes.resume(pid);
    expect(await bad.processes.get(pid)).toMatchObject({ status: 'waiting', wait: { builds: ['two'] } });
    await bad.shutdown();
    const good = await openWith(store, changing('one', goesOn));
    expect(await good.processes.result(pid)).toMatchObject({ value: { a: 'from a', child } });
  });
});

describe('processes.retry', () => {
  it('has the same build try again, with no build that counts as failed', async () => {
    const { kernel, pid } = await parked();
    const since = (await kernel.processes.get(pid)).wait?.since ?? 0;
    await kernel.processes.retry(pid);
    await eventually(async () => expect((await kernel.processes.get(pid)).wait?.since).toBeGreaterThan(since));
    expect((await kernel.processes.get(pid)).wait?.builds).toEqual(['two']);
    const { items } = await kernel.audit.list({ action: 'process.retry' });
    expect(items).toMatchObject([{ actor: pid, via: expect.stringMatching(/^host:/), target: pid, outcome: 'ok' }]);
  });

  it('is the only way to another version, over the same journal', async () => {
    const { store, kernel, pid, child } = await parked();
    await kernel.shutdown();
    const next = await openWith(store, changing('new', goesOn, { version: '2' }));
    await next.idle();
    expect((await next.processes.get(pid)).image).toBe('changing@1');
    await next.processes.retry(pid, { version: '2' });
    expect(await next.processes.result(pid)).toMatchObject({ status: 'exited', value: { a: 'from a', child } });
    expect((await next.processes.get(pid)).image).toBe('changing@2');
    await checkInvariants(next, store);
  });

  it('clears the builds and changes nothing else but the image of a process that nobody runs', async () => {
    const { store, kernel, pid } = await parked();
    await kernel.shutdown();
    const images = [changing('x', goesOn, { version: '2', recovery: 'fail' })];
    const host = await openKernel({ store, images, node: { executor: false } });
    const before = await host.processes.journal(pid);
    await host.processes.retry(pid, { version: '2' });
    const record = await host.processes.get(pid);
    expect(record).toMatchObject({ status: 'runnable', image: 'changing@2', recovery: 'fail', generation: 1 });
    expect(record.wait).toMatchObject({ kind: 'image', what: 'changing@2' });
    expect(await openRawTables(store).find('processes', { pid })).toMatchObject({ failed_builds: null, node: null });
    expect(await host.processes.journal(pid)).toEqual(before);
  });

  it('asks the rules on images, as exec does', async () => {
    const { kernel, pid } = await parked();
    const rule = await kernel.capabilities.deny(pid, { resource: 'image:changing', rights: ['spawn'] });
    expect((await refusal(kernel.processes.retry(pid))).code).toBe('CAPABILITY_DENIED');
    expect((await kernel.processes.get(pid)).wait).toMatchObject({ kind: 'code', builds: ['two'] });
    await kernel.capabilities.lift(rule.id);
    const since = (await kernel.processes.get(pid)).wait?.since ?? 0;
    await kernel.processes.retry(pid);
    await eventually(async () => expect((await kernel.processes.get(pid)).wait?.since).toBeGreaterThan(since));
  });

  it('wants what the version requires', async () => {
    const { store, kernel, pid } = await parked();
    await kernel.shutdown();
    const requires = [{ resource: 'tool:mail', rights: ['call' as const] }];
    const next = await openWith(store, changing('x', goesOn, { version: '2', requires }));
    expect((await refusal(next.processes.retry(pid, { version: '2' }))).code).toBe('CAPABILITY_DENIED');
    await next.capabilities.grant(pid, { resource: 'tool:mail', rights: ['call'] });
    await next.processes.retry(pid, { version: '2' });
    expect(await next.processes.result(pid)).toMatchObject({ status: 'exited' });
  });

  it('is refused for a version that is not there, for other kinds, and for processes that do not wait for code', async () => {
    const { kernel, pid, child } = await parked();
    kernel.images.register(defineSteps({ name: 'changing', version: 'list', steps: [{ name: 'x', run: () => 1 }] }));
    const codeOf = async (call: Promise<unknown>) => (await refusal(call)).code;
    expect(await codeOf(kernel.processes.retry(pid, { version: 'none' }))).toBe('NO_SUCH_IMAGE');
    expect(await codeOf(kernel.processes.retry(pid, { version: 'list' }))).toBe('INVALID_INPUT');
    expect(await codeOf(kernel.processes.retry(pid, { version: 'a b' }))).toBe('INVALID_INPUT');
    expect(await codeOf(kernel.processes.retry('p_nobody'))).toBe('NO_SUCH_PROCESS');
    expect(await codeOf(kernel.processes.retry(child))).toBe('INVALID_TRANSITION');
    await kernel.processes.exit(child);
    expect(await codeOf(kernel.processes.retry(child))).toBe('PROCESS_TERMINATED');
    expect((await kernel.processes.get(pid)).wait).toMatchObject({ kind: 'code', builds: ['two'] });
  });

  it('moves a process again that was moved to a version which nobody has', async () => {
    const { store, kernel, pid, child } = await parked();
    await kernel.shutdown();
    // A kernel without any version of the image cannot tell which there are.
    const host = await openKernel({ store, node: { executor: false } });
    await host.processes.retry(pid, { version: '22' });
    expect(await host.processes.get(pid)).toMatchObject({ status: 'runnable', image: 'changing@22' });
    await host.processes.retry(pid, { version: '2' });
    const next = await openWith(store, changing('new', goesOn, { version: '2' }));
    expect(await next.processes.result(pid)).toMatchObject({ value: { a: 'from a', child } });
  });
});
