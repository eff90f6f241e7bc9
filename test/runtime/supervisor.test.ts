import { describe, expect, it } from 'vitest';
import {
  defineImage,
  defineSupervisor,
  externalImage,
  type Image,
  type Kernel,
  type KernelOptions,
  type Pid,
  type ProcessRecord,
  type SupervisedChild,
  type SupervisorSpec,
} from '../../src/index.js';
import { until } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';
import { handClock } from '../support/kernel-fixture.js';

/** Its processes live until the test ends them. */
const worker = externalImage({ name: 'worker' });

const child = (name: string, restart: SupervisedChild['restart'] = 'permanent'): SupervisedChild => ({
  name,
  image: 'worker',
  restart,
});

const supervisor = (spec: Partial<SupervisorSpec>): Image =>
  defineSupervisor({
    name: 'team',
    strategy: 'one_for_one',
    intensity: 10,
    periodMs: 60_000,
    children: [child('a'), child('b'), child('c')],
    ...spec,
  });

interface Team {
  readonly kernel: Kernel;
  readonly pid: Pid;
  readonly store: string;
}

async function team(
  spec: Partial<SupervisorSpec> = {},
  images: readonly Image[] = [],
  options: KernelOptions = {},
): Promise<Team> {
  const store = newStore();
  const kernel = await openKernel({ ...options, store, images: [worker, ...images, supervisor(spec)] });
  const pid = await kernel.processes.spawn({ image: 'team' });
  await isSettled({ kernel, pid, store });
  return { kernel, pid, store };
}

/** The supervisor has done what it had to, and waits for its children, or has ended. */
async function isSettled({ kernel, pid }: Team): Promise<void> {
  await kernel.idle();
  const { status } = await kernel.processes.get(pid);
  expect(['waiting', 'exited', 'failed']).toContain(status);
}

async function live({ kernel, pid }: Team): Promise<ProcessRecord[]> {
  const children = await kernel.processes.children(pid);
  return children.filter(({ outcome }) => outcome === undefined);
}

async function named(of: Team, name: string): Promise<Pid> {
  const found = (await live(of)).filter((record) => record.name === name);
  expect(found).toHaveLength(1);
  return found[0]?.pid ?? '';
}

/** Which children were started and how they ended, in order. */
async function story({ kernel, pid }: Team): Promise<string[]> {
  const names = new Map((await kernel.processes.children(pid)).map((record) => [record.pid, record.name]));
  const { items } = await kernel.events.list({
    tree: pid,
    types: ['process.spawned', 'process.exited'],
    limit: 1_000,
  });
  return items
    .filter((event) => event.pid !== pid)
    .map(({ type, pid: of, data }) =>
      type === 'process.spawned'
        ? `+${names.get(of ?? '')}`
        : `-${names.get(of ?? '')} ${'outcome' in data ? data.outcome : ''}`,
    );
}

async function restarts({ kernel, pid }: Team): Promise<unknown[]> {
  const { items } = await kernel.events.list({ tree: pid, types: ['process.restarted'] });
  return items.map(({ data }) => data);
}

/** Fails the child of that name, and waits until the supervisor has dealt with it. */
async function fail(of: Team, name: string): Promise<Pid> {
  const pid = await named(of, name);
  await of.kernel.processes.fail(pid, `${name} broke`);
  await isSettled(of);
  return pid;
}

async function complete(of: Team, name: string): Promise<Pid> {
  const pid = await named(of, name);
  await of.kernel.processes.complete(pid, name);
  await isSettled(of);
  return pid;
}

describe('a supervisor', () => {
  it('starts its children left to right, each with its name and its spec', async () => {
    const of = await team({
      children: [{ ...child('a'), args: { n: 1 }, goal: 'Watch', budget: { tokens: 5 } }, child('b')],
    });
    const [a, b] = await live(of);
    expect([a, b]).toMatchObject([
      { name: 'a', image: 'worker@1', budget: { tokens: 5 }, parent: of.pid },
      { name: 'b', image: 'worker@1', budget: {} },
    ]);
    expect((await of.kernel.memory.read(a?.pid ?? '', a?.goal ?? '')).payload).toEqual({ text: 'Watch' });
    expect(await story(of)).toEqual(['+a', '+b']);
    expect(await of.kernel.processes.get(of.pid)).toMatchObject({ kind: 'agent', status: 'waiting' });
  });

  it('one_for_one: starts again the child that failed, as a new process, and leaves the others alone', async () => {
    const of = await team();
    const [a, , c] = await live(of);
    const failed = await fail(of, 'b');
    expect((await live(of)).map(({ name }) => name)).toEqual(['a', 'c', 'b']);
    expect([await named(of, 'a'), await named(of, 'c')]).toEqual([a?.pid, c?.pid]);
    const again = await named(of, 'b');
    expect(again).not.toBe(failed);
    expect(await story(of)).toEqual(['+a', '+b', '+c', '-b failed', '+b']);
    expect(await restarts(of)).toEqual([{ supervisor: of.pid, child: 'b', instead: failed, reason: 'failed' }]);
  });

  it('one_for_all: stops all the others right to left, then starts all left to right', async () => {
    const of = await team({ strategy: 'one_for_all' });
    await fail(of, 'b');
    expect(await story(of)).toEqual(['+a', '+b', '+c', '-b failed', '-c cancelled', '-a cancelled', '+a', '+b', '+c']);
    expect(await restarts(of)).toMatchObject([
      { child: 'a', reason: 'one_for_all' },
      { child: 'b', reason: 'failed' },
      { child: 'c', reason: 'one_for_all' },
    ]);
  });

  it('rest_for_one: stops those that were started after it, and starts it and them again', async () => {
    const of = await team({ strategy: 'rest_for_one' });
    const a = await named(of, 'a');
    await fail(of, 'b');
    expect(await story(of)).toEqual(['+a', '+b', '+c', '-b failed', '-c cancelled', '+b', '+c']);
    expect(await named(of, 'a')).toBe(a);
  });

  it('starts a permanent child again that exited, and one that was killed', async () => {
    const of = await team({ children: [child('a')] });
    await complete(of, 'a');
    await of.kernel.processes.kill(await named(of, 'a'));
    await isSettled(of);
    expect(await story(of)).toEqual(['+a', '-a completed', '+a', '-a killed', '+a']);
    expect(await restarts(of)).toMatchObject([{ reason: 'completed' }, { reason: 'killed' }]);
  });

  it('starts a transient child again that failed, and not one that exited', async () => {
    const of = await team({ children: [child('a', 'transient'), child('b')] });
    await fail(of, 'a');
    await complete(of, 'a');
    expect(await story(of)).toEqual(['+a', '+b', '-a failed', '+a', '-a completed']);
  });

  it('never starts a temporary child again, also not with the others', async () => {
    const of = await team({ strategy: 'one_for_all', children: [child('a', 'temporary'), child('b')] });
    await fail(of, 'b');
    expect(await story(of)).toEqual(['+a', '+b', '-b failed', '-a cancelled', '+b']);
    const other = await team({ children: [child('a', 'temporary'), child('b')] });
    await fail(other, 'a');
    expect(await story(other)).toEqual(['+a', '+b', '-a failed']);
  });

  it('exits when no child is left that it would start again', async () => {
    const of = await team({ children: [child('a', 'transient'), child('b', 'temporary')] });
    await complete(of, 'a');
    expect((await of.kernel.processes.get(of.pid)).status).toBe('waiting');
    await fail(of, 'b');
    expect(await of.kernel.processes.result(of.pid)).toMatchObject({
      status: 'exited',
      outcome: { kind: 'completed' },
    });
  });

  it('has the reason of each restart on record, in the commit of the birth', async () => {
    const of = await team({ strategy: 'rest_for_one', children: [child('a'), child('b')] });
    const b = await named(of, 'b');
    const a = await fail(of, 'a');
    const { items } = await of.kernel.audit.list({ action: 'process.restart' });
    const common = { actor: of.pid, via: 'process', outcome: 'ok' };
    expect(items).toMatchObject([
      {
        ...common,
        target: await named(of, 'a'),
        payload: { child: 'a' },
        facts: { supervisor: of.pid, instead: a, reason: 'failed', because: a },
      },
      {
        ...common,
        target: await named(of, 'b'),
        payload: { child: 'b' },
        facts: { supervisor: of.pid, instead: b, reason: 'rest_for_one', because: a },
      },
    ]);
    const births = (await of.kernel.audit.list({ action: 'process.spawnChild' })).items.slice(-2);
    expect(items.map(({ seq }) => seq)).toEqual(births.map(({ seq }) => seq + 1));
    expect(await of.kernel.audit.verify()).toMatchObject({ ok: true });
  });
});

describe('the intensity of a supervisor', () => {
  it('allows so many restarts within the period; the next failure stops the others right to left and fails it', async () => {
    const of = await team({ intensity: 2 });
    await fail(of, 'b');
    await fail(of, 'b');
    const last = await fail(of, 'b');
    expect(await of.kernel.processes.result(of.pid)).toMatchObject({
      status: 'failed',
      outcome: {
        kind: 'failed',
        reason: 'SUPERVISOR_INTENSITY',
        evidence: { facts: { child: 'b', pid: last, outcome: 'failed', intensity: 2, periodMs: 60_000 } },
      },
      message: 'Child "b" ended (failed) after 2 restarts within 60000 ms.',
    });
    expect((await story(of)).slice(-4)).toEqual(['+b', '-b failed', '-c cancelled', '-a cancelled']);
  });

  it('of nothing allows none', async () => {
    const of = await team({ intensity: 0, children: [child('a')] });
    await fail(of, 'a');
    expect((await of.kernel.processes.result(of.pid)).outcome).toMatchObject({ reason: 'SUPERVISOR_INTENSITY' });
    expect(await restarts(of)).toEqual([]);
  });

  it('forgets restarts that are longer ago than the period', async () => {
    const clock = handClock();
    const of = await team({ intensity: 1, periodMs: 60_000, children: [child('a')] }, [], { clock });
    for (let times = 0; times < 3; times++) {
      await fail(of, 'a');
      clock.advance(60_001);
    }
    expect(await restarts(of)).toHaveLength(3);
    expect((await of.kernel.processes.get(of.pid)).status).toBe('waiting');
  });

  it('counts the restart of all as one', async () => {
    const of = await team({ strategy: 'one_for_all', intensity: 1 });
    await fail(of, 'a');
    expect(await restarts(of)).toHaveLength(3);
    expect((await of.kernel.processes.get(of.pid)).status).toBe('waiting');
  });
});

describe('the backoff of a supervisor', () => {
  it('waits longer before each restart, and deals with the others meanwhile', async () => {
    const clock = handClock();
    const children = [child('a'), child('b', 'transient')];
    const of = await team({ backoff: { baseMs: 400, factor: 2 }, children }, [], { clock });
    const deadline = async () => (await of.kernel.processes.get(of.pid)).wait?.deadline;
    await of.kernel.processes.fail(await named(of, 'a'), 'broke');
    await until(async () => (await deadline()) === clock.now() + 400);
    await of.kernel.processes.complete(await named(of, 'b'));
    await isSettled(of);
    expect(await deadline()).toBe(clock.now() + 400);
    clock.advance(400);
    await until(async () => (await live(of)).length === 1);
    await of.kernel.processes.fail(await named(of, 'a'), 'broke again');
    await until(async () => (await deadline()) === clock.now() + 800);
    clock.advance(800);
    await until(async () => (await live(of)).length === 1);
    expect(await story(of)).toEqual(['+a', '+b', '-a failed', '-b completed', '+a', '-a failed', '+a']);
  });
});

/** Hears that it is to end, and does not. */
const stubborn = (asked: string[] = []) =>
  defineImage({
    name: 'stubborn',
    run: async (ctx) => {
      await ctx.sleep(1_000_000).catch(({ code }) => asked.push(code));
      await new Promise(() => undefined);
    },
  });

describe('a supervisor that stops a child', () => {
  it('asks it first, and kills it when its time is over, before it goes on with the next', async () => {
    const asked: string[] = [];
    const clock = handClock();
    const of = await team(
      {
        strategy: 'one_for_all',
        children: [child('a'), { name: 'b', image: 'stubborn', restart: 'permanent', shutdownMs: 300 }, child('c')],
      },
      [stubborn(asked)],
      { clock },
    );
    const b = await named(of, 'b');
    await of.kernel.processes.fail(await named(of, 'c'), 'c broke');
    await until(() => asked.length === 1);
    const { items } = await of.kernel.events.list({ pid: b, types: ['process.stopping'] });
    expect(items).toMatchObject([{ data: { alarmAt: clock.now() + 300 } }]);
    expect((await story(of)).slice(3)).toEqual(['-c failed']);
    clock.advance(300);
    await until(async () => (await restarts(of)).length === 3);
    expect(asked).toEqual(['CANCELLED']);
    expect((await story(of)).slice(3)).toEqual(['-c failed', '-b cancelled', '-a cancelled', '+a', '+b', '+c']);
  });
});

describe('a supervisor whose kernel is closed and opened again', () => {
  it('finds its children again and starts none twice', async () => {
    const of = await team();
    await fail(of, 'b');
    const before = (await live(of)).map(({ pid }) => pid);
    await of.kernel.shutdown();

    const kernel = await openKernel({ store: of.store, images: [worker, supervisor({})] });
    const again = { ...of, kernel };
    await isSettled(again);
    expect((await live(again)).map(({ pid }) => pid)).toEqual(before);
    await fail(again, 'a');
    expect(await story(again)).toEqual(['+a', '+b', '+c', '-b failed', '+b', '-a failed', '+a']);
    expect(await restarts(again)).toMatchObject([{ child: 'b' }, { child: 'a' }]);
  });

  it('deals with what ended meanwhile, and remembers how often it has restarted', async () => {
    const of = await team({ intensity: 1 });
    await fail(of, 'b');
    const b = await named(of, 'b');
    await of.kernel.shutdown();
    const looking = await openKernel({ store: of.store, images: [worker], node: { executor: false } });
    await looking.processes.fail(b, 'while nobody looked');
    await looking.shutdown();

    const kernel = await openKernel({ store: of.store, images: [worker, supervisor({ intensity: 1 })] });
    expect(await kernel.processes.result(of.pid)).toMatchObject({ outcome: { reason: 'SUPERVISOR_INTENSITY' } });
    expect((await story({ ...of, kernel })).slice(-3)).toEqual(['-b failed', '-c cancelled', '-a cancelled']);
  });

  it('goes on with a stop that was under way', async () => {
    const images = [
      worker,
      stubborn(),
      supervisor({
        strategy: 'one_for_all',
        children: [child('a'), { name: 'b', image: 'stubborn', restart: 'permanent', shutdownMs: 600 }, child('c')],
      }),
    ];
    const store = newStore();
    const clock = handClock();
    const kernel = await openKernel({ store, clock, images });
    const pid = await kernel.processes.spawn({ image: 'team' });
    await kernel.idle();
    const of = { kernel, pid, store };
    await kernel.processes.fail(await named(of, 'c'), 'broke');
    const b = await named(of, 'b');
    await until(async () => (await kernel.processes.get(b)).status === 'stopping');
    await kernel.shutdown({ graceMs: 10 });

    const again = { ...of, kernel: await openKernel({ store, clock, images }) };
    clock.advance(600);
    await until(async () => (await restarts(again)).length === 3);
    expect((await story(again)).filter((line) => line.startsWith('+'))).toEqual(['+a', '+b', '+c', '+a', '+b', '+c']);
    expect((await live(again)).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    await again.kernel.shutdown({ graceMs: 10 });
  });
});

describe('the authority of a supervisor', () => {
  const search = { resource: 'tool:search', rights: ['call'] } as const;
  const children: SupervisedChild[] = [child('a'), { ...child('b'), delegate: [{ ...search, rights: ['call'] }] }];

  it('is handed down to its children, to each one that is started', async () => {
    const kernel = await openKernel({ images: [worker, supervisor({ children })] });
    const grant = { resource: 'tool:search', rights: ['call' as const], delegable: true };
    const of = { kernel, store: '', pid: await kernel.processes.spawn({ image: 'team', capabilities: [grant] }) };
    await isSettled(of);
    await fail(of, 'b');
    expect((await kernel.capabilities.check(await named(of, 'b'), 'call', 'tool:search')).effect).toBe('allow');
    expect((await kernel.capabilities.check(await named(of, 'a'), 'call', 'tool:search')).effect).toBe('deny');
  });

  it('that does not reach fails it, and none of its children stays', async () => {
    const of = await team({ children });
    expect(await of.kernel.processes.result(of.pid)).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('Child "b" could not be started'),
      outcome: { reason: 'AMPLIFICATION', evidence: { facts: { child: 'b' } } },
    });
    expect(await story(of)).toEqual(['+a', '-a cancelled']);
  });

  it('for an image that nobody registered fails it', async () => {
    const of = await team({ children: [{ ...child('a'), image: 'nobody' }] });
    expect(await of.kernel.processes.result(of.pid)).toMatchObject({ outcome: { reason: 'NO_SUCH_IMAGE' } });
  });
});

describe('a supervisor that is cancelled', () => {
  it('ends with all of its children, and starts none again', async () => {
    const of = await team();
    await of.kernel.processes.cancel(of.pid, 'enough');
    expect(await of.kernel.processes.result(of.pid)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'cancelled', reason: 'enough' },
    });
    await of.kernel.idle({ timeoutMs: 20_000 });
    expect(await live(of)).toEqual([]);
    expect(await restarts(of)).toEqual([]);
  });
});

describe('registering a supervisor', () => {
  const good = { name: 'x', strategy: 'one_for_one', intensity: 1, periodMs: 1, children: [child('a')] };
  const at = (path: string) => `image.supervision.${path}`;
  const refusals: Readonly<Record<string, [unknown, string]>> = {
    'with an unknown strategy': [{ ...good, strategy: 'all' }, at('strategy')],
    'with a negative intensity': [{ ...good, intensity: -1 }, at('intensity')],
    'with half a restart': [{ ...good, intensity: 0.5 }, at('intensity')],
    'with no period': [{ ...good, periodMs: 0 }, at('periodMs')],
    'without children': [{ ...good, children: [] }, at('children')],
    'with two children of one name': [{ ...good, children: [child('a'), child('a')] }, at('children.1.name')],
    'with an unknown rule': [{ ...good, children: [child('a', 'always' as never)] }, at('children.0.restart')],
    'with a child without an image': [
      { ...good, children: [{ name: 'a', restart: 'permanent' }] },
      at('children.0.image'),
    ],
    'with a negative time to end': [
      { ...good, children: [{ ...child('a'), shutdownMs: -1 }] },
      at('children.0.shutdownMs'),
    ],
    'with arguments that are no data': [
      { ...good, children: [{ ...child('a'), args: () => 1 }] },
      at('children[0].args'),
    ],
    'with a right that is none': [
      { ...good, children: [{ ...child('a'), delegate: [{ resource: 'tool:x', rights: ['fly'] }] }] },
      at('children.0.delegate.0.rights.0'),
    ],
    'with a right that the resource does not have': [
      { ...good, children: [{ ...child('a'), delegate: [{ resource: 'tool:x', rights: ['read'] }] }] },
      at('children.0.delegate.0.rights'),
    ],
    'with an unknown property': [{ ...good, surprise: 1 }, 'image.supervision'],
    'with a backoff that shrinks': [{ ...good, backoff: { factor: 0.5 } }, at('backoff.factor')],
    'that is nothing': [undefined, 'image.name'],
  };
  for (const [what, [spec, path]] of Object.entries(refusals)) {
    it(`${what} is refused, naming where`, async () => {
      const kernel = await openKernel();
      expect(() => kernel.images.register(defineSupervisor(spec as never))).toThrow(
        expect.objectContaining({ code: 'INVALID_INPUT', facts: expect.objectContaining({ path }) }),
      );
      expect(kernel.images.list()).toEqual(['base@1']);
    });
  }
});
