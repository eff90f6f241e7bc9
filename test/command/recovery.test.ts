import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EventFeed } from '../../src/events/event-feed.js';
import type { Kernel, KernelOptions, Pid } from '../../src/index.js';
import { commandFixture, findOsProcesses, uniqueSeconds } from '../support/command-fixture.js';
import { eventually } from '../support/eventually.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';
import { nodesIn } from '../support/node-rows.js';
import { queuedCalls } from '../support/queued-calls.js';
import type { RawValue } from '../support/storage/raw-connection.js';
import { rawSql } from '../support/storage/raw-sql.js';

interface Leader {
  machine: string;
  boot: string;
  pid: number;
  startTicks: string;
}

/** A store whose kernel has shut down, with a command that survives it; and the means to edit what was written of it. */
async function left(script: string): Promise<{ store: string; pid: Pid; parent: Pid; edit: Edit; leader: Leader }> {
  const store = await newStore();
  const { kernel, face, pid: parent } = await commandFixture({}, { store });
  const { pid } = await face.run({ argv: ['sh', '-c', script], survive: true, background: true });
  await kernel.processes.waitOutput(pid, 'up');
  const report = await kernel.shutdown();
  expect(report).toEqual({ released: [pid], abandoned: [], stopped: [], fenced: [] });
  const edit: Edit = (sql, ...values) => rawSql(store, sql, ...values);
  const [row] = await rawSql<{ leader: string }>(store, 'SELECT leader FROM commands');
  return { store, pid, parent, edit, leader: JSON.parse(row?.leader ?? '') as Leader };
}
type Edit = (sql: string, ...values: RawValue[]) => Promise<unknown>;

function reopened(store: string, options: KernelOptions = {}): Promise<Kernel> {
  return openKernel({ store, workspace: tempFolder(), ...options });
}

/** A program of the test's own, which nobody else may signal. */
async function bystander(): Promise<{ child: ChildProcess; pid: number; startTicks: string }> {
  const child = spawn('sleep', [uniqueSeconds()], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
  return { child, pid: child.pid ?? 0, startTicks: stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '' };
}

describe('a command that survives its kernel', () => {
  it('is adopted: watched, signalled, and its end is told', async () => {
    const seconds = uniqueSeconds();
    const { store, pid, parent } = await left(`echo up; sleep ${seconds}; echo never`);
    expect(findOsProcesses(`sleep ${seconds}`).length).toBeGreaterThan(0);
    const kernel = await reopened(store);
    expect(kernel.recovery).toMatchObject({ checked: 1, adopted: 1, abandoned: {}, unverified: 0 });
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'running', node: kernel.nodeId });
    await kernel.processes.pause(pid);
    await expect
      .poll(() => (findOsProcesses(seconds).length > 0 ? stateOf(findOsProcesses(`sleep ${seconds}`).at(-1) ?? 0) : ''))
      .toBe('T');
    await kernel.processes.resume(pid);
    for (const osPid of findOsProcesses(`sleep ${seconds}`)) process.kill(osPid, 'SIGKILL');
    const { status, outcome, value } = await kernel.processes.result(pid);
    expect({ status, outcome, value }).toMatchObject({
      status: 'abandoned',
      outcome: { kind: 'abandoned', reason: 'pid_gone', evidence: { kind: 'pid_gone' } },
      value: { exitCode: null, signal: null },
    });
    expect((await kernel.processes.readOutput(pid)).text).toMatch(/^up\n/);
    expect(await kernel.as(parent).receive({ timeoutMs: 60_000 })).toMatchObject({
      from: pid,
      kind: 'command.ended',
      body: { outcome: 'abandoned' },
    });
    await checkInvariants(kernel, store);
  });

  it('is killed when it is adopted and ignores SIGTERM', async () => {
    const seconds = uniqueSeconds();
    const { store, pid } = await left(
      `trap '' TERM; (trap '' TERM; setsid sleep ${seconds}) & echo up; sleep ${seconds}; :`,
    );
    const kernel = await reopened(store);
    await kernel.processes.cancel(pid, 'not needed');
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'cancelled', reason: 'not needed' });
    expect(findOsProcesses(seconds)).toEqual([]);
    await checkInvariants(kernel, store);
  });

  it('whose stop was ordered while nobody drove it is stopped by whoever opens next', async () => {
    const seconds = uniqueSeconds();
    const { store, pid } = await left(`echo up; exec sleep ${seconds}`);
    const looker = await reopened(store, { node: { executor: false } });
    await looker.processes.cancel(pid, 'meanwhile');
    expect((await looker.processes.get(pid)).status).toBe('stopping');
    expect(findOsProcesses(seconds)).toHaveLength(1);
    const kernel = await reopened(store);
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'cancelled', reason: 'meanwhile' });
    expect(findOsProcesses(seconds)).toEqual([]);
    await checkInvariants(kernel, store);
  });

  it('is adopted once, however many kernels open', async () => {
    const seconds = uniqueSeconds();
    const { store, pid } = await left(`echo up; exec sleep ${seconds}`);
    const kernels = await Promise.all([reopened(store), reopened(store), reopened(store)]);
    expect(kernels.map(({ recovery }) => recovery.adopted).sort()).toEqual([0, 0, 1]);
    const [first] = kernels;
    await first?.processes.kill(pid);
    expect((await first?.processes.result(pid))?.outcome.kind).toBe('killed');
  });

  it('goes on to the next kernel when the one that adopted it shuts down', async () => {
    const seconds = uniqueSeconds();
    const { store, pid } = await left(`echo up; exec sleep ${seconds}`);
    const second = await reopened(store);
    expect((await second.shutdown()).released).toEqual([pid]);
    expect(findOsProcesses(seconds)).toHaveLength(1);
    const third = await reopened(store);
    expect(third.recovery.adopted).toBe(1);
    await third.processes.kill(pid);
    await third.processes.result(pid);
    expect(findOsProcesses(seconds)).toEqual([]);
  });
});

describe('a command that was left behind', () => {
  it('and has ended since is abandoned, and its output is kept', async () => {
    const { store, pid, leader } = await left('echo up; sleep 600');
    process.kill(-leader.pid, 'SIGKILL');
    await expect.poll(() => stateOf(leader.pid)).not.toMatch(/[RSD]/);
    const kernel = await reopened(store);
    expect(kernel.recovery).toMatchObject({ checked: 1, adopted: 0, abandoned: { pid_gone: 1 } });
    const { status, outcome, value } = await kernel.processes.result(pid);
    expect({ status, outcome, value }).toMatchObject({
      status: 'abandoned',
      outcome: { reason: 'pid_gone', evidence: { kind: 'pid_gone', pid: leader.pid } },
      value: { stdout: 'up\n' },
    });
    const outcomes = (await kernel.audit.list({ action: 'command.run' })).items.map((item) => item.outcome);
    expect(outcomes).toEqual(['intent', 'unknown']);
    await checkInvariants(kernel, store);
  });

  it('and was lost is OUTCOME_UNKNOWN to who waits for more output; what it has written is found', async () => {
    const { store, pid, parent, leader } = await left('echo up; sleep 600');
    process.kill(-leader.pid, 'SIGKILL');
    await expect.poll(() => stateOf(leader.pid)).not.toMatch(/[RSD]/);
    const kernel = await reopened(store);
    const waits = [
      kernel.processes.waitOutput(pid, 'never'),
      kernel.processes.waitOutput(pid, 'never', { timeoutMs: 1 }),
      kernel.processes.waitOutput(pid, 'up', { offset: 2 }),
      kernel.as(parent).waitOutput(pid, /never/),
    ];
    for (const wait of waits)
      expect(await refusal(wait)).toEqual({ code: 'OUTCOME_UNKNOWN', facts: { pid, reason: 'pid_gone' } });
    expect(await kernel.processes.waitOutput(pid, 'up')).toMatchObject({ matched: true, text: 'up', ended: true });
  });

  it('is OUTCOME_UNKNOWN to who has waited since before it was lost; one that has ended is not', async () => {
    const { kernel, face } = await commandFixture();
    const running = await face.run({ argv: ['sleep', uniqueSeconds()], background: true });
    const waiting = refusal(face.waitOutput(running.pid, 'never'));
    await kernel.processes.abandon(running.pid, 'lost');
    expect(await waiting).toEqual({ code: 'OUTCOME_UNKNOWN', facts: { pid: running.pid, reason: 'lost' } });
    const ended = await face.run({ argv: ['true'], background: true });
    expect(await face.waitOutput(ended.pid, 'never')).toMatchObject({ matched: false, ended: true });
    const cancelled = await face.run({ argv: ['sleep', uniqueSeconds()], background: true });
    await face.cancel(cancelled.pid);
    expect(await face.waitOutput(cancelled.pid, 'never')).toMatchObject({ matched: false, ended: true });
  });

  it('whose pid belongs to somebody else is abandoned, and that one is left alone', async () => {
    const { store, pid, edit, leader } = await left('echo up; sleep 600');
    process.kill(-leader.pid, 'SIGKILL');
    const other = await bystander();
    await edit('UPDATE commands SET leader = ?', JSON.stringify({ ...leader, pid: other.pid }));
    const kernel = await reopened(store);
    expect(kernel.recovery.abandoned).toEqual({ pid_reused: 1 });
    expect((await kernel.processes.get(pid)).outcome).toMatchObject({
      kind: 'abandoned',
      reason: 'pid_reused',
      evidence: { kind: 'pid_reused', pid: other.pid },
    });
    expect(other.child.exitCode ?? other.child.signalCode).toBeNull();
    expect(stateOf(other.pid)).toMatch(/[RS]/);
  });

  it('whose pid and start are those of one without the token is not taken for it either', async () => {
    const { store, pid, edit, leader } = await left('echo up; sleep 600');
    process.kill(-leader.pid, 'SIGKILL');
    const { child, ...other } = await bystander();
    await edit('UPDATE commands SET leader = ?', JSON.stringify({ ...leader, ...other }));
    await edit(
      "UPDATE processes SET status = 'stopping', alarm_at = 1, stop = ? WHERE pid = ?",
      '{"kind":"killed","by":"host"}',
      pid,
    );
    const kernel = await reopened(store);
    expect((await kernel.processes.get(pid)).outcome).toMatchObject({ kind: 'killed', by: 'host' });
    expect(child.exitCode ?? child.signalCode).toBeNull();
    expect(stateOf(other.pid)).toMatch(/[RS]/);
  });

  it('before another boot of the machine is abandoned', async () => {
    const { store, pid, edit, leader } = await left(`echo up; exec sleep ${uniqueSeconds()}`);
    await edit('UPDATE commands SET leader = ?', JSON.stringify({ ...leader, boot: 'another' }));
    const kernel = await reopened(store);
    expect(kernel.recovery.abandoned).toEqual({ host_rebooted: 1 });
    expect((await kernel.processes.get(pid)).outcome).toMatchObject({ reason: 'host_rebooted' });
    expect(stateOf(leader.pid)).toMatch(/[RS]/);
  });

  it('by a node of another machine is abandoned, and nothing here is signalled', async () => {
    const { store, pid, edit, leader } = await left(`echo up; exec sleep ${uniqueSeconds()}`);
    await edit('UPDATE commands SET leader = ?', JSON.stringify({ ...leader, machine: 'elsewhere' }));
    const kernel = await reopened(store);
    expect(kernel.recovery.abandoned).toEqual({ owner_lost: 1 });
    expect((await kernel.processes.get(pid)).outcome).toMatchObject({ reason: 'owner_lost' });
    expect(stateOf(leader.pid)).toMatch(/[RS]/);
  });

  it('of which nothing can be proven is counted, left as it is, and looked at again', async () => {
    const { store, pid, edit, leader } = await left(`echo up; exec sleep ${uniqueSeconds()}`);
    await edit('UPDATE commands SET leader = ?', JSON.stringify({ ...leader, startTicks: '' }));
    const kernel = await reopened(store, { node: { leaseMs: 300 } });
    expect(kernel.recovery).toMatchObject({ unverified: 1, adopted: 0, abandoned: {} });
    expect((await kernel.processes.get(pid)).status).toBe('running');
    process.kill(leader.pid, 'SIGKILL');
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({ reason: 'pid_gone' });
    // Counted when the whole of what was looked at again is done.
    await expect.poll(() => kernel.recovery).toMatchObject({ unverified: 1, abandoned: { pid_gone: 1 } });
  });

  it('whose leader is gone and whose children are not is abandoned when they are stopped', async () => {
    const seconds = uniqueSeconds();
    const { store, pid, leader } = await left(
      `(trap '' TERM; setsid sleep ${seconds}) & (trap '' TERM; sleep ${seconds}) & echo up; sleep 600`,
    );
    process.kill(leader.pid, 'SIGKILL');
    expect(findOsProcesses(`sleep ${seconds}`).length).toBeGreaterThanOrEqual(2);
    const kernel = await reopened(store);
    expect(kernel.recovery.abandoned).toEqual({ pid_gone: 1 });
    expect(findOsProcesses(seconds)).toEqual([]);
    expect((await kernel.processes.get(pid)).outcome?.evidence).toMatchObject({ kind: 'pid_gone' });
    await checkInvariants(kernel, store);
  });
});

describe('a kernel that shuts down', () => {
  it('stops what does not survive it, also what does not want to', async () => {
    const store = await newStore();
    const set = await commandFixture({}, { store });
    const [one, two] = [uniqueSeconds(), uniqueSeconds()];
    const run = async (script: string) => {
      const { pid } = await set.face.run({ argv: ['sh', '-c', script], background: true });
      await set.kernel.processes.waitOutput(pid, 'up');
      return pid;
    };
    const stubborn = await run(`trap '' TERM; (trap '' TERM; setsid sleep ${one}) & echo up; sleep ${one}; :`);
    const stopping = await run(`trap '' TERM; echo up; sleep ${two}; :`);
    await set.kernel.processes.signal(stopping, 'cancel', { graceMs: 60_000 });
    expect(await set.kernel.shutdown()).toEqual({
      released: [],
      abandoned: [stubborn],
      stopped: [stopping],
      fenced: [],
    });
    expect([...findOsProcesses(one), ...findOsProcesses(two)]).toEqual([]);
    const kernel = await reopened(store);
    expect((await kernel.processes.get(stubborn)).outcome).toMatchObject({
      kind: 'abandoned',
      reason: 'owner_lost',
      evidence: { kind: 'owner_lost', reason: 'shutdown', node: set.kernel.nodeId },
    });
    expect((await kernel.processes.get(stopping)).outcome).toMatchObject({ kind: 'cancelled' });
    expect(kernel.recovery).toMatchObject({ adopted: 0, abandoned: {} });
    await checkInvariants(kernel, store);
  });
});

describe('several kernels', () => {
  it('stop each other’s commands: the order is in the table, and the one that drives it acts', async () => {
    const set = await commandFixture({}, { node: { pollMs: 20 } });
    const seconds = uniqueSeconds();
    const { pid } = await set.face.run({ argv: ['sleep', seconds], background: true });
    const other = await reopened(set.store, { node: { executor: false, pollMs: 20 } });
    await other.processes.pause(pid);
    await expect.poll(() => stateOf(findOsProcesses(seconds)[0] ?? 0)).toBe('T');
    await other.processes.cancel(pid, 'from elsewhere');
    expect((await other.processes.result(pid)).outcome).toMatchObject({ kind: 'cancelled', reason: 'from elsewhere' });
    expect(findOsProcesses(seconds)).toEqual([]);
  });

  it('take commands over from one that has lost its lease, which then signals nothing', async () => {
    const set = await commandFixture({}, { node: { pollMs: 20 } });
    const seconds = uniqueSeconds();
    const { pid } = await set.face.run({ argv: ['sleep', seconds], background: true });
    let delivered = 0;
    using _subscription = set.kernel.container.get<EventFeed>(EventFeed).onAdvance((seq) => {
      delivered = seq;
    });
    await nodesIn(set.store).edit(set.kernel.nodeId, { ended_at: 1 });
    const other = await reopened(set.store, { node: { pollMs: 20 } });
    expect(other.recovery).toMatchObject({ adopted: 1 });
    expect((await set.kernel.processes.get(pid)).node).toBe(other.nodeId);
    const adopted = (await set.kernel.events.list({ types: ['process.adopted'] })).items;
    expect(adopted).toHaveLength(1);
    await eventually(() => expect(delivered).toBeGreaterThanOrEqual(adopted[0]?.seq ?? 0));
    await queuedCalls(set.kernel);
    // The one that has lost it lets go of it, and stops it no more.
    expect((await set.kernel.shutdown()).abandoned).toEqual([]);
    expect(findOsProcesses(seconds)).toHaveLength(1);
    await other.processes.cancel(pid);
    expect((await other.processes.result(pid)).outcome.kind).toBe('cancelled');
    expect(findOsProcesses(seconds)).toEqual([]);
    await checkInvariants(other, set.store);
  });
});

describe('a kernel without an executor', () => {
  it('drives what its calls have started, also its time limit, and gives its lease back', async () => {
    const store = await newStore();
    const set = await commandFixture({}, { store, node: { executor: false } });
    expect((await set.face.run({ argv: ['echo', 'hi'] })).stdout).toBe('hi\n');
    expect(await set.face.run({ argv: ['sleep', '600'], timeoutMs: 100 })).toMatchObject({ timedOut: true });
    const seconds = uniqueSeconds();
    const { pid } = await set.face.run({ argv: ['sleep', seconds], background: true });
    await expect.poll(() => findOsProcesses(seconds).length).toBe(1);
    expect((await set.kernel.shutdown()).abandoned).toEqual([pid]);
    expect(findOsProcesses(seconds)).toEqual([]);
    expect(await rawSql(store, 'SELECT id FROM nodes WHERE ended_at IS NULL')).toEqual([]);
    const kernel = await reopened(store);
    await checkInvariants(kernel, store);
  });
});

function stateOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).charAt(0);
  } catch {
    // It is gone.
    return '-';
  }
}
