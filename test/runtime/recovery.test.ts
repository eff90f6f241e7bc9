import { join } from 'node:path';
import { ContainerModule } from 'inversify';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Kernel, type KernelOptions, OsProcesses, type Pid, type RecoveryReport } from '../../src/index.js';
import { Recovery } from '../../src/runtime/node/recovery.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel } from '../support/kernel.js';
import { type KernelFixture, kernelFixture, manualClock } from '../support/kernel-fixture.js';
import { nodeEvents, nodesIn } from '../support/node-rows.js';
import { runsOnStore } from '../support/seeded.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

const emptyReport: RecoveryReport = {
  checked: 0,
  adopted: 0,
  rerun: 0,
  abandoned: {},
  unverified: 0,
  paused: 0,
  stopped: 0,
};
const edited = { edited: true };
const elsewhere = 'n_elsewhere';
const leaseMs = 300;

/** Kernels here register no images, so that released processes stay runnable. */
function openNode(store: string, options: KernelOptions = {}): Promise<Kernel> {
  return openKernel({ store, durability: 'normal', ...options });
}

/** A program of its own that has registered a node on the file, and the id of the node. */
async function startNode(store: string): Promise<{ program: Program; node: string }> {
  const program = new Program(join(programs, 'node.js'), store);
  program.send('go');
  const line = await program.waitForLine((each) => each.startsWith('node '));
  return { program, node: line.slice('node '.length) };
}

/** The node of a program that was killed: it holds what `hold` gives it, and its lease has long to go. */
async function startAndKillNode(set: KernelFixture, hold: (node: string) => Promise<void>): Promise<string> {
  const { program, node } = await startNode(set.path);
  await hold(node);
  await program.kill();
  expect(await nodesIn(set.path).get(node)).toMatchObject({ ended_at: null });
  return node;
}

/** A process as a node runs it. */
async function spawnRunningOn(
  { kernel, edit }: KernelFixture,
  node: string,
  more: Parameters<KernelFixture['edit']>[1] = {},
): Promise<Pid> {
  const pid = await kernel.processes.spawn({ image: 'worker' });
  await edit(pid, { status: 'running', node, started_at: 1, ...more });
  return pid;
}

async function releasesOf(kernel: Kernel, pid: Pid): Promise<unknown[]> {
  const { items } = await kernel.events.list({ pid, types: ['process.released'] });
  return items.map(({ data }) => data);
}

describe('a node whose program was killed', () => {
  it('is given up when the next kernel opens, and what it ran can be claimed at once', async () => {
    const set = await kernelFixture();
    const { row } = set;
    const pids: Pid[] = [];
    const node = await startAndKillNode(set, async (id) => {
      const wait = JSON.stringify({ kind: 'timer', what: 'sleep', since: 1, on: ['timer:1'] });
      pids.push(
        await spawnRunningOn(set, id, { fence: 6, deadline_at: 5_000_000_000_000, alarm_at: 4_000_000_000_000 }),
      );
      pids.push(await spawnRunningOn(set, id, { status: 'waiting', wait, fence: 1, alarm_at: 4_000_000_000_000 }));
    });
    const kernel = await openNode(set.path);
    const released = { status: 'runnable', previous: null, node: null, wait: null };
    expect(await Promise.all(pids.map((pid) => row(pid)))).toMatchObject([
      { ...released, fence: 7, alarm_at: 5_000_000_000_000 },
      { ...released, fence: 2, alarm_at: null },
    ]);
    const report = { ...emptyReport, checked: 2, rerun: 2 };
    expect(kernel.recovery).toEqual(report);
    expect((await nodeEvents(kernel)).map(({ type, data }) => [type, data])).toEqual([
      ['node.lapsed', { node, epoch: 1, reason: 'dead' }],
      ['node.recovered', { node, epoch: 1, reason: 'dead', ...report }],
    ]);
    for (const pid of pids) expect(await releasesOf(kernel, pid)).toEqual([{ reason: 'dead', node }]);
    const { items } = await kernel.audit.list({ action: 'node.recover' });
    expect(items).toMatchObject([{ actor: 'kernel', target: node, outcome: 'ok' }]);
    await checkInvariants(kernel, set.path, edited);
  });

  it('is given up by a kernel that is open, when it next renews its own lease', async () => {
    const set = await kernelFixture();
    const kernel = await openNode(set.path, { node: { leaseMs } });
    const { program, node } = await startNode(set.path);
    const pid = await spawnRunningOn(set, node);
    await program.kill();
    await expect.poll(async () => (await set.row(pid)).status).toBe('runnable');
    await expect.poll(() => kernel.recovery).toEqual({ ...emptyReport, checked: 1, rerun: 1 });
  });

  it('is not mistaken for one that is alive', async () => {
    const set = await kernelFixture();
    const { program, node } = await startNode(set.path);
    const pid = await spawnRunningOn(set, node);
    const before = await set.row(pid);
    const kernel = await openNode(set.path);
    await kernel.container.get(Recovery).recoverLostNodes();
    expect([await set.row(pid), kernel.recovery]).toEqual([before, emptyReport]);
    await program.kill();
    await kernel.container.get(Recovery).recoverLostNodes();
    expect(kernel.recovery.rerun).toBe(1);
  });
});

describe('what becomes of the processes of a lost node', () => {
  it('one that must not run twice is abandoned with the evidence', async () => {
    const set = await kernelFixture();
    await nodesIn(set.path).addElsewhere(elsewhere, { lease_ms: leaseMs });
    const running = await spawnRunningOn(set, elsewhere, { recovery: 'fail' });
    const paused = await spawnRunningOn(set, elsewhere, { recovery: 'fail', status: 'paused', previous: 'running' });
    const notStarted = await set.kernel.processes.spawn({ image: 'worker' });
    await set.edit(notStarted, { recovery: 'fail' });
    const kernel = await openNode(set.path, { node: { leaseMs } });
    await expect.poll(() => kernel.recovery.checked).toBe(2);
    for (const pid of [running, paused]) {
      const { status, outcome } = await kernel.processes.get(pid);
      expect({ status, outcome }).toEqual({
        status: 'abandoned',
        outcome: {
          kind: 'abandoned',
          reason: 'owner_lost',
          evidence: { kind: 'owner_lost', node: elsewhere, reason: 'lapsed' },
        },
      });
      expect(await releasesOf(kernel, pid)).toEqual([]);
    }
    expect((await kernel.processes.get(notStarted)).status).toBe('runnable');
    expect(kernel.recovery).toEqual({ ...emptyReport, checked: 2, abandoned: { owner_lost: 2 } });
    await checkInvariants(kernel, set.path, edited);
  });

  it('one that must not run twice and has not begun is given back', async () => {
    const set = await kernelFixture();
    const pid = await spawnRunningOn(set, elsewhere, { recovery: 'fail', started_at: null });
    const kernel = await openNode(set.path);
    expect([(await set.row(pid)).status, kernel.recovery]).toEqual([
      'runnable',
      { ...emptyReport, checked: 1, rerun: 1 },
    ]);
  });

  it('one that was being stopped ends with the reason that was stored, and keeps no grace', async () => {
    const set = await kernelFixture();
    const pids: Pid[] = [];
    await startAndKillNode(set, async (node) => {
      pids.push(await spawnRunningOn(set, node), await spawnRunningOn(set, node, { recovery: 'fail' }));
      for (const pid of pids) await set.kernel.processes.cancel(pid, 'enough');
    });
    expect(await Promise.all(pids.map(async (pid) => (await set.row(pid)).status))).toEqual(['stopping', 'stopping']);
    const kernel = await openNode(set.path);
    for (const pid of pids) {
      const { status, outcome } = await kernel.processes.get(pid);
      expect({ status, outcome }).toEqual({
        status: 'killed',
        outcome: { kind: 'cancelled', reason: 'enough', by: 'host' },
      });
    }
    expect(kernel.recovery).toEqual({ ...emptyReport, checked: 2, stopped: 2 });
    await checkInvariants(kernel, set.path, edited);
  });

  it('one that was paused stays so, and can be claimed once it is resumed', async () => {
    const set = await kernelFixture();
    const pids: Pid[] = [];
    await startAndKillNode(set, async (node) => {
      pids.push(await spawnRunningOn(set, node), await spawnRunningOn(set, node, { status: 'waiting' }));
      for (const pid of pids) await set.kernel.processes.pause(pid, 'lunch');
    });
    const fences = await Promise.all(pids.map(async (pid) => Number((await set.row(pid)).fence)));
    const kernel = await openNode(set.path);
    expect(kernel.recovery).toEqual({ ...emptyReport, checked: 2, paused: 2 });
    for (const [index, pid] of pids.entries()) {
      expect(await set.row(pid)).toMatchObject({ status: 'paused', node: null, fence: (fences[index] ?? 0) + 1 });
      await kernel.processes.resume(pid);
      expect((await kernel.processes.get(pid)).status).toBe('runnable');
    }
    await checkInvariants(kernel, set.path, edited);
  });

  it('children of one that is abandoned end with it if the node held them too, and are stopped elsewhere', async () => {
    const set = await kernelFixture();
    const { kernel: host, edit, row } = set;
    const other = await openNode(set.path);
    const tree = { parent: '', same: '', others: '' };
    await startAndKillNode(set, async (node) => {
      tree.parent = await spawnRunningOn(set, node, { recovery: 'fail' });
      tree.same = await host.processes.spawnChild(tree.parent, { image: 'worker' });
      tree.others = await host.processes.spawnChild(tree.parent, { image: 'worker' });
      await edit(tree.same, { status: 'running', node, started_at: 1 });
      await edit(tree.others, { status: 'running', node: other.nodeId, started_at: 1 });
    });
    const kernel = await openNode(set.path);
    expect(kernel.recovery).toEqual({ ...emptyReport, checked: 2, abandoned: { owner_lost: 1 }, stopped: 1 });
    expect((await row(tree.parent)).status).toBe('abandoned');
    expect((await kernel.processes.get(tree.same)).outcome).toEqual({ kind: 'parent_exited', by: tree.parent });
    expect(await row(tree.others)).toMatchObject({ status: 'stopping', node: other.nodeId });
    await checkInvariants(kernel, set.path, edited);
  });

  it('commands and external processes are left as they are, and no event is written', async () => {
    const set = await kernelFixture();
    const command = await spawnRunningOn(set, 'n_unknown', { kind: 'command' });
    const external = await set.kernel.processes.spawn({});
    await set.edit(external, { status: 'running', node: 'n_unknown', started_at: 1 });
    const before = [await set.row(command), await set.row(external)];
    const kernel = await openNode(set.path);
    expect([await set.row(command), await set.row(external)]).toEqual(before);
    expect(kernel.recovery).toEqual({ ...emptyReport, checked: 2 });
    expect(await nodeEvents(kernel)).toEqual([]);
  });

  it.each(['nobody knows', 'has ended'])(
    'what is held by a node that %s is released when a kernel opens',
    async (which) => {
      const set = await kernelFixture();
      const nodes = nodesIn(set.path);
      if (which === 'has ended') await nodes.addElsewhere(elsewhere);
      await nodes.edit(elsewhere, { ended_at: 1 });
      const pid = await spawnRunningOn(set, elsewhere);
      const kernel = await openNode(set.path);
      expect(await set.row(pid)).toMatchObject({ status: 'runnable', node: null });
      const report = { ...emptyReport, checked: 1, rerun: 1 };
      expect((await nodeEvents(kernel)).map(({ type, data }) => [type, data])).toEqual([
        ['node.recovered', { node: elsewhere, reason: 'missing', ...report }],
      ]);
      expect(kernel.recovery).toEqual(report);
      await checkInvariants(kernel, set.path, edited);
    },
  );
});

describe('recovery', () => {
  it('never gives up the node that does it, however late that is with its own lease', async () => {
    const clock = manualClock();
    const set = await kernelFixture({ clock });
    const kernel = await openNode(set.path, { clock });
    const pid = await spawnRunningOn(set, kernel.nodeId);
    clock.advance(86_400_000);
    await kernel.container.get(Recovery).recoverLostNodes();
    expect([(await set.row(pid)).status, kernel.recovery]).toEqual(['running', emptyReport]);
  });

  it('a second time changes nothing more', async () => {
    const set = await kernelFixture();
    const pids: Pid[] = [];
    await startAndKillNode(set, async (node) => {
      pids.push(await spawnRunningOn(set, node), await spawnRunningOn(set, node, { recovery: 'fail' }));
    });
    const first = await openNode(set.path);
    const rows = await Promise.all(pids.map((pid) => set.row(pid)));
    const events = await nodeEvents(first);
    await first.container.get(Recovery).recoverLostNodes();
    const second = await openNode(set.path);
    expect(await Promise.all(pids.map((pid) => set.row(pid)))).toEqual(rows);
    expect(await nodeEvents(second)).toEqual(events);
    expect(second.recovery).toEqual(emptyReport);
  });

  it('is done by one of several programs that find the same node gone', async () => {
    const set = await kernelFixture();
    const pids: Pid[] = [];
    const node = await startAndKillNode(set, async (id) => {
      for (let n = 0; n < 20; n++) pids.push(await spawnRunningOn(set, id, { fence: 0 }));
    });
    const racers = Array.from({ length: 3 }, () => new Program(join(programs, 'node.js'), set.path));
    for (const racer of racers) await racer.waitForLine((line) => line === 'ready');
    for (const racer of racers) racer.send('go');
    const kernels = await Promise.all([openNode(set.path), openNode(set.path)]);
    for (const racer of racers) await racer.waitForLine((line) => line.startsWith('node '));
    const events = await nodeEvents(set.kernel);
    expect(events.map(({ type, data }) => [type, 'node' in data && data.node])).toEqual([
      ['node.lapsed', node],
      ['node.recovered', node],
    ]);
    expect(await Promise.all(pids.map(async (pid) => (await set.row(pid)).fence))).toEqual(pids.map(() => 1));
    const doneHere = kernels.filter(({ recovery }) => recovery.checked > 0);
    expect(doneHere.length).toBe(kernels.some(({ nodeId }) => nodeId === events[0]?.node) ? 1 : 0);
    for (const racer of racers) await racer.kill();
  });

  it('of thousands of processes is one transaction', { timeout: 120_000 }, async () => {
    const count = runsOnStore(10_000);
    const set = await kernelFixture();
    const node = await startAndKillNode(set, async (id) => {
      await Promise.all(Array.from({ length: count }, () => set.kernel.processes.spawn({ image: 'worker' })));
      await nodesIn(set.path).holdAll(id);
    });
    const kernel = await openNode(set.path);
    expect(kernel.recovery).toEqual({ ...emptyReport, checked: count, rerun: count });
    const [lapsed, recovered, ...more] = await nodeEvents(kernel);
    expect(more).toEqual([]);
    expect(lapsed).toMatchObject({ type: 'node.lapsed', data: { node } });
    expect(recovered).toMatchObject({ type: 'node.recovered', seq: (lapsed?.seq ?? 0) + count + 1 });
    expect((await kernel.processes.list({ status: 'runnable', limit: count })).items).toHaveLength(count);
    expect((await kernel.processes.list({ node })).items).toEqual([]);
  });

  it('uses the OsProcesses that a caller binds', async () => {
    const set = await kernelFixture();
    await nodesIn(set.path).addElsewhere(elsewhere);
    const pid = await spawnRunningOn(set, elsewhere);
    const self = { machine: 'm', boot: 'b', pid: 1, startTicks: '1' };
    const module = new ContainerModule(({ bind }) => {
      bind(OsProcesses).toConstantValue({ self: () => self, isAlive: ({ machine }) => machine !== 'elsewhere' });
    });
    const kernel = await openNode(set.path, { modules: [module] });
    expect(await releasesOf(kernel, pid)).toEqual([{ reason: 'dead', node: elsewhere }]);
    expect(JSON.parse((await nodesIn(set.path).get(kernel.nodeId))?.host ?? '')).toEqual(self);
  });

  it('is not done by a kernel without an executor', async () => {
    const set = await kernelFixture();
    let pid = '';
    await startAndKillNode(set, async (node) => {
      pid = await spawnRunningOn(set, node);
    });
    const before = await set.row(pid);
    const looker = await openNode(set.path, { node: { executor: false } });
    expect([await set.row(pid), looker.recovery]).toEqual([before, emptyReport]);
  });
});
