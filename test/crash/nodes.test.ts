import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Kernel, type Pid } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { openKernel, tempFolder } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe('two nodes on one file', () => {
  it('run each process once, on one of them', { timeout: 60_000 }, async () => {
    const { kernel, start } = await nodesFixture();
    const left = await start('left');
    const right = await start('right');
    const pids = await Promise.all(
      Array.from({ length: 40 }, () => kernel.processes.spawn({ image: 'slow', args: { steps: 2, ms: 100 } })),
    );
    const results = await Promise.all(pids.map((pid) => kernel.processes.result(pid)));
    expect(new Set(results.map(({ value }) => value))).toEqual(new Set(['left', 'right']));
    const began = [...left.lines, ...right.lines].filter((line) => line.startsWith('began'));
    expect(began.sort()).toEqual(pids.map((pid) => `began ${pid}`).sort());
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('of which one stands still past its lease: the other finishes its processes, and it changes nothing', {
    timeout: 60_000,
  }, async () => {
    const { kernel, start, spawn } = await nodesFixture();
    const stopped = await start('stopped');
    const pid = await spawn(stopped, { image: 'slow', args: { steps: 4, ms: 300 } });
    await stopped.waitForLine((line) => line === `step 2 ${pid}`);
    stopped.signal('SIGSTOP');
    const other = await start('other');
    expect(await kernel.processes.result(pid, { timeoutMs: 20_000 })).toMatchObject({
      status: 'exited',
      value: 'other',
    });
    const before = await kernel.audit.list({ limit: 10_000 });
    stopped.signal('SIGCONT');
    await stopped.waitForLine((line) => line === `LEASE_LOST ${pid}`);
    await sleep(300);
    expect((await kernel.processes.get(pid)).status).toBe('exited');
    const after = await kernel.audit.list({ limit: 10_000, from: (before.items.at(-1)?.at ?? 0) + 1 });
    expect(after.items.filter(({ target, outcome }) => target === pid && outcome === 'ok')).toEqual([]);
    expect(other.lines.filter((line) => line.startsWith('step'))).toEqual([2, 3, 4].map((n) => `step ${n} ${pid}`));
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('of which one stands still and is continued while the other runs its process: LEASE_LOST', {
    timeout: 60_000,
  }, async () => {
    const { kernel, start, spawn } = await nodesFixture();
    const stopped = await start('stopped');
    const pid = await spawn(stopped, { image: 'slow', args: { steps: 3, ms: 1_500 } });
    await stopped.waitForLine((line) => line === `step 1 ${pid}`);
    stopped.signal('SIGSTOP');
    const other = await start('other');
    await other.waitForLine((line) => line === `began ${pid}`);
    stopped.signal('SIGCONT');
    await stopped.waitForLine((line) => line === `LEASE_LOST ${pid}`);
    expect(await kernel.processes.result(pid, { timeoutMs: 30_000 })).toMatchObject({ value: 'other' });
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
    it(`is abandoned with evidence when its node was killed, ${name}`, { timeout: 60_000 }, async () => {
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
      await sleep(100);
      expect(other.lines.filter((line) => line.startsWith('began'))).toEqual([]);
    });
  }
});

/** A file, a kernel that only looks at it, and nodes. */
async function nodesFixture(): Promise<{
  kernel: Kernel;
  start(name: string): Promise<Program>;
  spawn(program: Program, spec: object): Promise<Pid>;
}> {
  const store = join(tempFolder(), 'nodes.db');
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
    start: async (name) => {
      const program = new Program(join(programs, 'slow-node.js'), store, name);
      onTestFinished(() => program.kill());
      await program.waitForLine((line) => line.startsWith('open'));
      return program;
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
