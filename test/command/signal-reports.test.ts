import { ContainerModule } from 'inversify';
import { describe, expect, it } from 'vitest';
import { type Kernel, type KernelOptions, OsProcesses, OsPrograms, type Pid } from '../../src/index.js';
import { anyCommand, uniqueSeconds } from '../support/command-fixture.js';
import { eventually } from '../support/eventually.js';
import { foreignProgram, idle, isLive } from '../support/foreign-program.js';
import { newStore, openKernel } from '../support/kernel.js';
import { rawSql } from '../support/storage/raw-sql.js';

const nothing = { delivered: [], unchanged: [], alreadyTerminal: [], refused: [], stale: [], unavailable: [] };

interface Adopted {
  readonly kernel: Kernel;
  readonly store: string;
  readonly pid: Pid;
  readonly osPid: number;
  readonly end: () => Promise<unknown>;
}

/** A kernel that has adopted a program. */
async function adopted(options: KernelOptions = {}): Promise<Adopted> {
  const store = await newStore();
  const kernel = await openKernel({ store, ...options });
  const { osPid, child, exit } = await foreignProgram(idle());
  const { pid } = await kernel.processes.adopt({ osPid });
  const end = () => {
    child.kill('SIGKILL');
    return exit;
  };
  return { kernel, store, pid, osPid, end };
}

/** Changes the identity that was recorded of the program, while no kernel has the store open. */
async function editLeader(store: string, change: object): Promise<void> {
  const [row] = await rawSql<{ leader: string }>(store, 'SELECT leader FROM commands');
  await rawSql(
    store,
    'UPDATE commands SET leader = ?',
    JSON.stringify({ ...JSON.parse(row?.leader ?? ''), ...change }),
  );
}

describe('the report of a signal', () => {
  it.each(['cancel', 'kill', 'pause'] as const)('of %s tells a program that is gone as stale', async (signal) => {
    const { kernel, pid, end } = await adopted();
    await end();
    expect(await kernel.processes.signal(pid, signal)).toEqual({ ...nothing, matched: 1, stale: [pid] });
    if (signal === 'pause') return;
    const kind = signal === 'kill' ? 'killed' : 'cancelled';
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({ kind, by: 'host' });
  });

  it('tells a program that lives as delivered', async () => {
    const { kernel, pid } = await adopted();
    expect(await kernel.processes.cancel(pid)).toEqual({ ...nothing, matched: 1, delivered: [pid] });
  });

  it('tells a pid that is another program by now as stale, stops the row, and leaves that program alone', async () => {
    const { kernel, store, pid, osPid } = await adopted();
    await kernel.shutdown();
    await editLeader(store, { startTicks: '1' });
    const looker = await openKernel({ store, node: { executor: false } });
    expect(await looker.processes.cancel(pid, 'enough')).toEqual({ ...nothing, matched: 1, stale: [pid] });
    expect((await looker.processes.get(pid)).status).toBe('stopping');
    const next = await openKernel({ store });
    expect((await next.processes.result(pid)).outcome).toMatchObject({ kind: 'cancelled', reason: 'enough' });
    expect(isLive(osPid)).toBe(true);
  });

  it('tells a program of an earlier boot of this machine as stale', async () => {
    const { kernel, store, pid, osPid } = await adopted();
    await kernel.shutdown();
    await editLeader(store, { boot: 'another-boot' });
    const looker = await openKernel({ store, node: { executor: false } });
    expect((await looker.processes.kill(pid)).stale).toEqual([pid]);
    expect(isLive(osPid)).toBe(true);
  });

  it('tells a program of another machine as unavailable; the order is in the row', async () => {
    const { kernel, store, pid, osPid } = await adopted();
    await kernel.shutdown();
    await editLeader(store, { machine: 'elsewhere' });
    const looker = await openKernel({ store, node: { executor: false } });
    expect(await looker.processes.cancel(pid, 'enough')).toEqual({ ...nothing, matched: 1, unavailable: [pid] });
    expect((await looker.processes.get(pid)).status).toBe('stopping');
    expect(isLive(osPid)).toBe(true);
  });

  it('tells what this user may not signal as unavailable; the order is in the row', async () => {
    const set = await adopted();
    const { store, pid } = set;
    const programs = set.kernel.container.get<OsPrograms>(OsPrograms);
    const denied: OsPrograms = {
      find: (osPid) => programs.find(osPid),
      own: () => programs.own(),
      maySignal: () => false,
    };
    const other = await openKernel({
      store,
      node: { executor: false },
      modules: [new ContainerModule(({ bind }) => void bind(OsPrograms).toConstantValue(denied))],
    });
    expect(await other.processes.cancel(pid)).toEqual({ ...nothing, matched: 1, unavailable: [pid] });
    // Who drives it may.
    expect((await set.kernel.processes.result(pid)).outcome.kind).toBe('cancelled');
  });

  it('tells a command that another machine drives and that has not started as unavailable', async () => {
    const { kernel, store, pid, osPid } = await adopted();
    await kernel.shutdown();
    const os: OsProcesses = {
      self: () => ({ machine: 'b', boot: 'b', pid: 1, startTicks: '1' }),
      isAlive: () => undefined,
    };
    await rawSql(store, 'UPDATE commands SET leader = NULL');
    const other = await openKernel({
      store,
      node: { executor: false },
      modules: [new ContainerModule(({ bind }) => void bind(OsProcesses).toConstantValue(os))],
    });
    expect((await other.processes.cancel(pid)).unavailable).toEqual([pid]);
    expect(isLive(osPid)).toBe(true);
  });

  it('puts each process of a tree into one list', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store });
    const root = await kernel.processes.spawn({ capabilities: [anyCommand], owner: { session: 'a' } });
    const gone = await foreignProgram(idle());
    const there = await foreignProgram(idle());
    const first = await kernel.processes.adopt({ osPid: gone.osPid, parent: root });
    const second = await kernel.processes.adopt({ osPid: there.osPid, parent: root });
    const command = await kernel.as(root).run({ argv: ['sleep', uniqueSeconds()], background: true });
    const external = await kernel.processes.spawnChild(root, {});
    gone.child.kill('SIGKILL');
    await gone.exit;
    const report = await kernel.processes.signal({ owner: { session: 'a' } }, 'cancel');
    const delivered = [root, second.pid, command.pid, external];
    expect(report).toEqual({ ...nothing, matched: 5, delivered: expect.anything(), stale: [first.pid] });
    expect([...report.delivered].sort()).toEqual(delivered.sort());
    for (const pid of [...delivered, first.pid])
      await eventually(async () => expect((await kernel.processes.get(pid)).status).toBe('killed'));
  });

  it('that was sent with an id is the same when it is sent again', async () => {
    const { kernel, pid, end } = await adopted();
    await end();
    const first = await kernel.processes.signal(pid, 'cancel', { id: 'once' });
    expect(first.stale).toEqual([pid]);
    await kernel.processes.result(pid);
    expect(await kernel.processes.signal(pid, 'cancel', { id: 'once' })).toEqual(first);
  });

  it('of a user signal looks at no program', async () => {
    const { kernel, pid, end } = await adopted();
    await end();
    expect(await kernel.processes.signal(pid, 'user.ping')).toEqual({ ...nothing, matched: 1, delivered: [pid] });
  });

  it('is given to a process for its own children too', async () => {
    const kernel = await openKernel();
    const root = await kernel.processes.spawn({});
    const { osPid, child, exit } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid, parent: root });
    child.kill('SIGKILL');
    await exit;
    expect(await kernel.as(root).cancel(pid)).toEqual({ ...nothing, matched: 1, stale: [pid] });
  });
});
