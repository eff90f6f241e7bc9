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
import { pollUntil } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';
import { manualClock } from '../support/kernel-fixture.js';

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

async function startTeam(
  spec: Partial<SupervisorSpec> = {},
  images: readonly Image[] = [],
  options: KernelOptions = {},
): Promise<Team> {
  const store = await newStore();
  const kernel = await openKernel({ ...options, store, images: [worker, ...images, supervisor(spec)] });
  const pid = await kernel.processes.spawn({ image: 'team' });
  await waitUntilSettled({ kernel, pid, store });
  return { kernel, pid, store };
}

/** Waits until the supervisor waits for its children or has ended. */
async function waitUntilSettled({ kernel, pid }: Team): Promise<void> {
  await kernel.idle();
  const { status } = await kernel.processes.get(pid);
  expect(['waiting', 'exited', 'failed']).toContain(status);
}

async function liveChildren({ kernel, pid }: Team): Promise<ProcessRecord[]> {
  const children = await kernel.processes.children(pid);
  return children.filter(({ outcome }) => outcome === undefined);
}

async function livePidOf(team: Team, name: string): Promise<Pid> {
  const matching = (await liveChildren(team)).filter((record) => record.name === name);
  expect(matching).toHaveLength(1);
  return matching[0]?.pid ?? '';
}

/** The starts and ends of children, in order: `+name` and `-name outcome`. */
async function childHistory({ kernel, pid }: Team): Promise<string[]> {
  const names = new Map((await kernel.processes.children(pid)).map((record) => [record.pid, record.name]));
  const { items } = await kernel.events.list({
    tree: pid,
    types: ['process.spawned', 'process.exited'],
    limit: 1_000,
  });
  return items
    .filter((event) => event.pid !== pid)
    .map(({ type, pid: child, data }) =>
      type === 'process.spawned'
        ? `+${names.get(child ?? '')}`
        : `-${names.get(child ?? '')} ${'outcome' in data ? data.outcome : ''}`,
    );
}

async function restartEvents({ kernel, pid }: Team): Promise<unknown[]> {
  const { items } = await kernel.events.list({ tree: pid, types: ['process.restarted'] });
  return items.map(({ data }) => data);
}

/** Fails the child of that name, and waits until the supervisor has handled it. */
async function failChild(team: Team, name: string): Promise<Pid> {
  const pid = await livePidOf(team, name);
  await team.kernel.processes.fail(pid, `${name} broke`);
  await waitUntilSettled(team);
  return pid;
}

async function completeChild(team: Team, name: string): Promise<Pid> {
  const pid = await livePidOf(team, name);
  await team.kernel.processes.complete(pid, name);
  await waitUntilSettled(team);
  return pid;
}

describe('a supervisor', () => {
  it('starts its children left to right, each with its name and its spec', async () => {
    const team = await startTeam({
      children: [{ ...child('a'), args: { n: 1 }, goal: 'Watch', budget: { tokens: 5 } }, child('b')],
    });
    const [a, b] = await liveChildren(team);
    expect([a, b]).toMatchObject([
      { name: 'a', image: 'worker@1', budget: { tokens: 5 }, parent: team.pid },
      { name: 'b', image: 'worker@1', budget: {} },
    ]);
    expect((await team.kernel.memory.read(a?.pid ?? '', a?.goal ?? '')).payload).toEqual({ text: 'Watch' });
    expect(await childHistory(team)).toEqual(['+a', '+b']);
    expect(await team.kernel.processes.get(team.pid)).toMatchObject({ kind: 'agent', status: 'waiting' });
  });

  it('one_for_one: starts again the child that failed, as a new process, and leaves the others alone', async () => {
    const team = await startTeam();
    const [a, , c] = await liveChildren(team);
    const failed = await failChild(team, 'b');
    expect((await liveChildren(team)).map(({ name }) => name)).toEqual(['a', 'c', 'b']);
    expect([await livePidOf(team, 'a'), await livePidOf(team, 'c')]).toEqual([a?.pid, c?.pid]);
    const again = await livePidOf(team, 'b');
    expect(again).not.toBe(failed);
    expect(await childHistory(team)).toEqual(['+a', '+b', '+c', '-b failed', '+b']);
    expect(await restartEvents(team)).toEqual([
      { supervisor: team.pid, child: 'b', instead: failed, reason: 'failed' },
    ]);
  });

  it('one_for_all: stops all the others right to left, then starts all left to right', async () => {
    const team = await startTeam({ strategy: 'one_for_all' });
    await failChild(team, 'b');
    expect(await childHistory(team)).toEqual([
      '+a',
      '+b',
      '+c',
      '-b failed',
      '-c cancelled',
      '-a cancelled',
      '+a',
      '+b',
      '+c',
    ]);
    expect(await restartEvents(team)).toMatchObject([
      { child: 'a', reason: 'one_for_all' },
      { child: 'b', reason: 'failed' },
      { child: 'c', reason: 'one_for_all' },
    ]);
  });

  it('rest_for_one: stops those that were started after it, and starts it and them again', async () => {
    const team = await startTeam({ strategy: 'rest_for_one' });
    const a = await livePidOf(team, 'a');
    await failChild(team, 'b');
    expect(await childHistory(team)).toEqual(['+a', '+b', '+c', '-b failed', '-c cancelled', '+b', '+c']);
    expect(await livePidOf(team, 'a')).toBe(a);
  });

  it('starts a permanent child again that exited, and one that was killed', async () => {
    const team = await startTeam({ children: [child('a')] });
    await completeChild(team, 'a');
    await team.kernel.processes.kill(await livePidOf(team, 'a'));
    await waitUntilSettled(team);
    expect(await childHistory(team)).toEqual(['+a', '-a completed', '+a', '-a killed', '+a']);
    expect(await restartEvents(team)).toMatchObject([{ reason: 'completed' }, { reason: 'killed' }]);
  });

  it('starts a transient child again that failed, and not one that exited', async () => {
    const team = await startTeam({ children: [child('a', 'transient'), child('b')] });
    await failChild(team, 'a');
    await completeChild(team, 'a');
    expect(await childHistory(team)).toEqual(['+a', '+b', '-a failed', '+a', '-a completed']);
  });

  it('never starts a temporary child again, also not with the others', async () => {
    const team = await startTeam({ strategy: 'one_for_all', children: [child('a', 'temporary'), child('b')] });
    await failChild(team, 'b');
    expect(await childHistory(team)).toEqual(['+a', '+b', '-b failed', '-a cancelled', '+b']);
    const second = await startTeam({ children: [child('a', 'temporary'), child('b')] });
    await failChild(second, 'a');
    expect(await childHistory(second)).toEqual(['+a', '+b', '-a failed']);
  });

  it('exits when no child is left that it would start again', async () => {
    const team = await startTeam({ children: [child('a', 'transient'), child('b', 'temporary')] });
    await completeChild(team, 'a');
    expect((await team.kernel.processes.get(team.pid)).status).toBe('waiting');
    await failChild(team, 'b');
    expect(await team.kernel.processes.result(team.pid)).toMatchObject({
      status: 'exited',
      outcome: { kind: 'completed' },
    });
  });

  it('records the reason of each restart, in the commit of the spawn', async () => {
    const team = await startTeam({ strategy: 'rest_for_one', children: [child('a'), child('b')] });
    const b = await livePidOf(team, 'b');
    const a = await failChild(team, 'a');
    const { items } = await team.kernel.audit.list({ action: 'process.restart' });
    const common = { actor: team.pid, via: 'process', outcome: 'ok' };
    expect(items).toMatchObject([
      {
        ...common,
        target: await livePidOf(team, 'a'),
        payload: { child: 'a' },
        facts: { supervisor: team.pid, instead: a, reason: 'failed', because: a },
      },
      {
        ...common,
        target: await livePidOf(team, 'b'),
        payload: { child: 'b' },
        facts: { supervisor: team.pid, instead: b, reason: 'rest_for_one', because: a },
      },
    ]);
    const spawns = (await team.kernel.audit.list({ action: 'process.spawnChild' })).items.slice(-2);
    expect(items.map(({ seq }) => seq)).toEqual(spawns.map(({ seq }) => seq + 1));
    expect(await team.kernel.audit.verify()).toMatchObject({ ok: true });
  });
});

describe('the intensity of a supervisor', () => {
  it('allows so many restarts within the period; the next failure stops the others right to left and fails it', async () => {
    const team = await startTeam({ intensity: 2 });
    await failChild(team, 'b');
    await failChild(team, 'b');
    const last = await failChild(team, 'b');
    expect(await team.kernel.processes.result(team.pid)).toMatchObject({
      status: 'failed',
      outcome: {
        kind: 'failed',
        reason: 'SUPERVISOR_INTENSITY',
        evidence: { facts: { child: 'b', pid: last, outcome: 'failed', intensity: 2, periodMs: 60_000 } },
      },
      message: 'Child "b" ended (failed) after 2 restarts within 60000 ms.',
    });
    expect((await childHistory(team)).slice(-4)).toEqual(['+b', '-b failed', '-c cancelled', '-a cancelled']);
  });

  it('of zero allows no restart', async () => {
    const team = await startTeam({ intensity: 0, children: [child('a')] });
    await failChild(team, 'a');
    expect((await team.kernel.processes.result(team.pid)).outcome).toMatchObject({ reason: 'SUPERVISOR_INTENSITY' });
    expect(await restartEvents(team)).toEqual([]);
  });

  it('forgets restarts that are longer ago than the period', async () => {
    const clock = manualClock();
    const team = await startTeam({ intensity: 1, periodMs: 60_000, children: [child('a')] }, [], { clock });
    for (let times = 0; times < 3; times++) {
      await failChild(team, 'a');
      clock.advance(60_001);
    }
    expect(await restartEvents(team)).toHaveLength(3);
    expect((await team.kernel.processes.get(team.pid)).status).toBe('waiting');
  });

  it('counts the restart of all as one', async () => {
    const team = await startTeam({ strategy: 'one_for_all', intensity: 1 });
    await failChild(team, 'a');
    expect(await restartEvents(team)).toHaveLength(3);
    expect((await team.kernel.processes.get(team.pid)).status).toBe('waiting');
  });
});

describe('the backoff of a supervisor', () => {
  it('waits longer before each restart, and deals with the others meanwhile', async () => {
    const clock = manualClock();
    const children = [child('a'), child('b', 'transient')];
    const team = await startTeam({ backoff: { baseMs: 400, factor: 2 }, children }, [], { clock });
    const deadline = async () => (await team.kernel.processes.get(team.pid)).wait?.deadline;
    await team.kernel.processes.fail(await livePidOf(team, 'a'), 'broke');
    await pollUntil(async () => (await deadline()) === clock.now() + 400);
    await team.kernel.processes.complete(await livePidOf(team, 'b'));
    await waitUntilSettled(team);
    expect(await deadline()).toBe(clock.now() + 400);
    clock.advance(400);
    await pollUntil(async () => (await liveChildren(team)).length === 1);
    await team.kernel.processes.fail(await livePidOf(team, 'a'), 'broke again');
    await pollUntil(async () => (await deadline()) === clock.now() + 800);
    clock.advance(800);
    await pollUntil(async () => (await liveChildren(team)).length === 1);
    expect(await childHistory(team)).toEqual(['+a', '+b', '-a failed', '-b completed', '+a', '-a failed', '+a']);
  });
});

/** Is cancelled, and does not end. */
const stubborn = (codes: string[] = []) =>
  defineImage({
    name: 'stubborn',
    run: async (ctx) => {
      await ctx.sleep(1_000_000).catch(({ code }) => codes.push(code));
      await new Promise(() => undefined);
    },
  });

describe('a supervisor that stops a child', () => {
  it('asks it first, and kills it when its time is over, before it goes on with the next', async () => {
    const asked: string[] = [];
    const clock = manualClock();
    const team = await startTeam(
      {
        strategy: 'one_for_all',
        children: [child('a'), { name: 'b', image: 'stubborn', restart: 'permanent', shutdownMs: 300 }, child('c')],
      },
      [stubborn(asked)],
      { clock },
    );
    const b = await livePidOf(team, 'b');
    await team.kernel.processes.fail(await livePidOf(team, 'c'), 'c broke');
    await pollUntil(() => asked.length === 1);
    const { items } = await team.kernel.events.list({ pid: b, types: ['process.stopping'] });
    expect(items).toMatchObject([{ data: { alarmAt: clock.now() + 300 } }]);
    expect((await childHistory(team)).slice(3)).toEqual(['-c failed']);
    clock.advance(300);
    await pollUntil(async () => (await restartEvents(team)).length === 3);
    expect(asked).toEqual(['CANCELLED']);
    expect((await childHistory(team)).slice(3)).toEqual([
      '-c failed',
      '-b cancelled',
      '-a cancelled',
      '+a',
      '+b',
      '+c',
    ]);
  });
});

describe('a supervisor whose kernel is closed and opened again', () => {
  it('finds its children again and starts none twice', async () => {
    const team = await startTeam();
    await failChild(team, 'b');
    const before = (await liveChildren(team)).map(({ pid }) => pid);
    await team.kernel.shutdown();

    const kernel = await openKernel({ store: team.store, images: [worker, supervisor({})] });
    const again = { ...team, kernel };
    await waitUntilSettled(again);
    expect((await liveChildren(again)).map(({ pid }) => pid)).toEqual(before);
    await failChild(again, 'a');
    expect(await childHistory(again)).toEqual(['+a', '+b', '+c', '-b failed', '+b', '-a failed', '+a']);
    expect(await restartEvents(again)).toMatchObject([{ child: 'b' }, { child: 'a' }]);
  });

  it('deals with what ended meanwhile, and remembers how often it has restarted', async () => {
    const team = await startTeam({ intensity: 1 });
    await failChild(team, 'b');
    const b = await livePidOf(team, 'b');
    await team.kernel.shutdown();
    const looking = await openKernel({ store: team.store, images: [worker], node: { executor: false } });
    await looking.processes.fail(b, 'while nobody looked');
    await looking.shutdown();

    const kernel = await openKernel({ store: team.store, images: [worker, supervisor({ intensity: 1 })] });
    expect(await kernel.processes.result(team.pid)).toMatchObject({ outcome: { reason: 'SUPERVISOR_INTENSITY' } });
    expect((await childHistory({ ...team, kernel })).slice(-3)).toEqual(['-b failed', '-c cancelled', '-a cancelled']);
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
    const store = await newStore();
    const clock = manualClock();
    const kernel = await openKernel({ store, clock, images });
    const pid = await kernel.processes.spawn({ image: 'team' });
    await kernel.idle();
    const team = { kernel, pid, store };
    await kernel.processes.fail(await livePidOf(team, 'c'), 'broke');
    const b = await livePidOf(team, 'b');
    await pollUntil(async () => (await kernel.processes.get(b)).status === 'stopping');
    await kernel.shutdown({ graceMs: 10 });

    const again = { ...team, kernel: await openKernel({ store, clock, images }) };
    clock.advance(600);
    await pollUntil(async () => (await restartEvents(again)).length === 3);
    expect((await childHistory(again)).filter((line) => line.startsWith('+'))).toEqual([
      '+a',
      '+b',
      '+c',
      '+a',
      '+b',
      '+c',
    ]);
    expect((await liveChildren(again)).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    await again.kernel.shutdown({ graceMs: 10 });
  });
});

describe('the authority of a supervisor', () => {
  const search = { resource: 'tool:search', rights: ['call'] } as const;
  const children: SupervisedChild[] = [child('a'), { ...child('b'), delegate: [{ ...search, rights: ['call'] }] }];

  it('is handed down to its children, to each one that is started', async () => {
    const kernel = await openKernel({ images: [worker, supervisor({ children })] });
    const grant = { resource: 'tool:search', rights: ['call' as const], delegable: true };
    const team = { kernel, store: '', pid: await kernel.processes.spawn({ image: 'team', capabilities: [grant] }) };
    await waitUntilSettled(team);
    await failChild(team, 'b');
    expect((await kernel.capabilities.check(await livePidOf(team, 'b'), 'call', 'tool:search')).effect).toBe('allow');
    expect((await kernel.capabilities.check(await livePidOf(team, 'a'), 'call', 'tool:search')).effect).toBe('deny');
  });

  it('that does not reach fails it, and none of its children stays', async () => {
    const team = await startTeam({ children });
    expect(await team.kernel.processes.result(team.pid)).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('Child "b" could not be started'),
      outcome: { reason: 'AMPLIFICATION', evidence: { facts: { child: 'b' } } },
    });
    expect(await childHistory(team)).toEqual(['+a', '-a cancelled']);
  });

  it('for an image that nobody registered fails it', async () => {
    const team = await startTeam({ children: [{ ...child('a'), image: 'nobody' }] });
    expect(await team.kernel.processes.result(team.pid)).toMatchObject({ outcome: { reason: 'NO_SUCH_IMAGE' } });
  });
});

describe('a supervisor that is cancelled', () => {
  it('ends with all of its children, and starts none again', async () => {
    const team = await startTeam();
    await team.kernel.processes.cancel(team.pid, 'enough');
    expect(await team.kernel.processes.result(team.pid)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'cancelled', reason: 'enough' },
    });
    await team.kernel.idle({ timeoutMs: 20_000 });
    expect(await liveChildren(team)).toEqual([]);
    expect(await restartEvents(team)).toEqual([]);
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
