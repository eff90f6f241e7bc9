import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Kernel, type Pid } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel, tempFolder } from '../support/kernel.js';
import { isStopped } from '../support/os-processes.js';
import { findInconsistencies } from '../support/store-consistency.js';
import { isSqlite } from '../support/store-kind.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe('two nodes on one store', () => {
  it('run each process once, on one of them', async () => {
    const { kernel, start, gate } = await nodesFixture();
    // So long that neither takes over from the other when that is slow.
    const leaseMs = 600_000;
    const left = await start('left', leaseMs);
    const right = await start('right', leaseMs);
    const args = { steps: 2, ms: 1, gate };
    const pids = await Promise.all(Array.from({ length: 40 }, () => kernel.processes.spawn({ image: 'slow', args })));
    // Neither has slots for all of them.
    for (const node of [left, right]) await node.waitForLine((line) => line.startsWith('began'));
    writeFileSync(gate, '');
    const results = await Promise.all(pids.map((pid) => kernel.processes.result(pid)));
    expect(new Set(results.map(({ value }) => value))).toEqual(new Set(['left', 'right']));
    const began = [...left.lines, ...right.lines].filter((line) => line.startsWith('began'));
    // A body whose call could not be written, as to a file that is busy for long, is run again, and says so.
    const { items } = await kernel.events.list({ types: ['process.released'], limit: 1_000 });
    expect(items.filter(({ data }) => (data as { reason: string }).reason !== 'store')).toEqual([]);
    expect(began.sort()).toEqual([...pids, ...items.map(({ pid }) => pid)].map((pid) => `began ${pid}`).sort());
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('of which one stands still past its lease: the other finishes its processes, and it changes nothing', async () => {
    const { kernel, start, spawn, standStill, gate } = await nodesFixture();
    const stopped = await start('stopped');
    const pid = await spawn(stopped, { image: 'slow', args: { steps: 3, ms: 1, gate } });
    await stopped.waitForLine((line) => line === `step 1 ${pid}`);
    await standStill(stopped);
    const other = await start('other');
    await other.waitForLine((line) => line === `step 1 ${pid}`);
    writeFileSync(gate, '');
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'other' });
    const before = await kernel.audit.list({ limit: 10_000 });
    stopped.signal('SIGCONT');
    await stopped.waitForLine((line) => line === `LEASE_LOST ${pid}`);
    // What it does next comes after whatever it would have done about the process that it has lost.
    await kernel.processes.result(await spawn(stopped, { image: 'slow', args: { steps: 1, ms: 1 } }));
    expect((await kernel.processes.get(pid)).status).toBe('exited');
    const after = await kernel.audit.list({ limit: 10_000, from: (before.items.at(-1)?.at ?? 0) + 1 });
    expect(after.items.filter(({ target, outcome }) => target === pid && outcome === 'ok')).toEqual([]);
    const steps = other.lines.filter((line) => line.startsWith('step') && line.endsWith(pid));
    expect(steps).toEqual([1, 2, 3].map((n) => `step ${n} ${pid}`));
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('of which one stands still and is continued while the other runs its process: LEASE_LOST', async () => {
    const { kernel, start, spawn, standStill, gate } = await nodesFixture();
    const stopped = await start('stopped');
    const pid = await spawn(stopped, { image: 'slow', args: { steps: 3, ms: 1, gate } });
    await stopped.waitForLine((line) => line === `step 1 ${pid}`);
    await standStill(stopped);
    // Longer, so that the first does not take the process back while this one is slow.
    const other = await start('other', 3_000);
    await other.waitForLine((line) => line === `began ${pid}`);
    stopped.signal('SIGCONT');
    writeFileSync(`${gate}-stopped`, '');
    await stopped.waitForLine((line) => line === `LEASE_LOST ${pid}`);
    writeFileSync(gate, '');
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'other' });
    // It has a new epoch, and works again.
    const next = await spawn(stopped, { image: 'slow', args: { steps: 1, ms: 1 } });
    expect(await kernel.processes.result(next)).toMatchObject({ status: 'exited' });
  });
});

describe('a process that never runs twice', () => {
  for (const [name, waitMs] of [
    ['at once', 0],
    ['long after its lease has lapsed', 1_500],
  ] as const) {
    it(`is abandoned with evidence when its node was killed, ${name}`, async () => {
      const { kernel, start, spawn } = await nodesFixture();
      const killed = await start('killed');
      const pid = await spawn(killed, { image: 'never-twice' });
      await killed.waitForLine((line) => line === `began ${pid}`);
      await killed.kill();
      await sleep(waitMs);
      expect((await kernel.processes.get(pid)).status).toBe('running');
      const other = await start('other');
      expect(await kernel.processes.result(pid)).toMatchObject({
        status: 'abandoned',
        outcome: { kind: 'abandoned', reason: 'owner_lost', evidence: { kind: 'owner_lost' } },
      });
      // A node that would run it again would have begun it before what is spawned now.
      await kernel.processes.result(await spawn(other, { image: 'slow', args: { steps: 1, ms: 1 } }));
      expect(other.lines.filter((line) => line === `began ${pid}`)).toEqual([]);
    });
  }
});

/** A file, a kernel that only looks at it, and nodes. */
async function nodesFixture(): Promise<{
  kernel: Kernel;
  start(name: string, leaseMs?: number): Promise<Program>;
  spawn(program: Program, spec: object): Promise<Pid>;
  /** Stops it between its transactions: one that stands still within one keeps everybody else from writing. */
  standStill(program: Program): Promise<void>;
  /** A file that is not there yet. */
  gate: string;
}> {
  const folder = tempFolder();
  const store = isSqlite ? join(folder, 'nodes.db') : await newStore();
  const images = ['slow', 'never-twice'].map((name) => ({
    name,
    version: '1',
    kind: 'agent' as const,
    requires: [],
    recovery: name === 'slow' ? ('rerun' as const) : ('fail' as const),
    run: async () => null,
  }));
  const kernel = await openKernel({ store, images, node: { executor: false, pollMs: 20 } });
  return {
    kernel,
    gate: join(folder, 'gate'),
    start: async (name, leaseMs = 500) => {
      const program = new Program(join(programs, 'slow-node.js'), store, name, String(leaseMs));
      onTestFinished(() => program.kill());
      await program.waitForLine((line) => line.startsWith('open'));
      return program;
    },
    standStill: async (program) => {
      for (;;) {
        program.signal('SIGSTOP');
        await eventually(() => expect(isStopped(program.pid)).toBe(true));
        // A server ends the transaction of a node that stands still.
        if (!isSqlite || !isLocked(store)) return;
        program.signal('SIGCONT');
        await sleep(5);
      }
    },
    spawn: async (program, spec) => {
      const known = program.lines.length;
      program.send(`spawn ${JSON.stringify(spec)}`);
      const line = await program.waitForLine(
        (text) => text.startsWith('spawned') && program.lines.indexOf(text) >= known,
      );
      return line.slice('spawned '.length);
    },
  };
}

/** Whether somebody is within a transaction that writes. */
function isLocked(store: string): boolean {
  const db = new Database(store, { timeout: 0 });
  try {
    db.exec('BEGIN IMMEDIATE; ROLLBACK');
    return false;
  } catch {
    return true;
  } finally {
    db.close();
  }
}
