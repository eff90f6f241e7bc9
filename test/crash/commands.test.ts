import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Kernel, ProcessRecord } from '../../src/index.js';
import { findOsProcesses, uniqueSeconds } from '../support/command-fixture.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, tempFolder } from '../support/kernel.js';
import { isSweep } from '../support/seeded.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

type Mode = 'polite' | 'running' | 'stopping' | 'survive' | Escape;
/** The child has no environment and no group of the command. */
type Escape = 'escaped' | 'outputOnly' | 'inTree';

/** A database whose kernel dies while a command of it runs. */
class CommandCrash {
  readonly workspace = tempFolder();
  readonly store = join(this.workspace, 'crash.db');
  readonly seconds = uniqueSeconds();

  async start(mode: Mode, ...killArgs: string[]): Promise<Program> {
    const program = new Program(
      join(programs, 'commander.js'),
      this.store,
      this.workspace,
      this.seconds,
      mode,
      ...killArgs,
    );
    await program.waitForLine((line) => line === 'ready');
    program.send('go');
    await program.waitForLine((line) => line === 'open');
    return program;
  }

  /** Kills the kernel while the command runs; without its guard, if that is to be gone too. */
  async kill(mode: Mode, guard: 'guarded' | 'unguarded'): Promise<void> {
    const program = await this.start(mode);
    await program.waitForLine((line) => line.startsWith('up '));
    const guards = guard === 'unguarded' ? guardsOf(program.pid) : [];
    expect(guards).toHaveLength(guard === 'unguarded' && mode !== 'survive' ? 1 : 0);
    // One that stands still sees nothing of the end of the kernel.
    for (const pid of guards) process.kill(pid, 'SIGSTOP');
    await program.kill();
    for (const pid of guards) process.kill(pid, 'SIGKILL');
  }

  reopen(): Promise<Kernel> {
    return openKernel({ store: this.store, workspace: this.workspace });
  }

  async command(kernel: Kernel): Promise<ProcessRecord | undefined> {
    return (await kernel.processes.list({ kind: 'command' })).items[0];
  }

  async expectNothingRuns(): Promise<void> {
    await expect.poll(() => findOsProcesses(this.seconds), { timeout: 10_000 }).toEqual([]);
  }

  /** After everything has ended: the row with its evidence, nobody left, nothing half done. */
  async expectEnded(kernel: Kernel, outcome: object): Promise<void> {
    const { pid = '' } = (await this.command(kernel)) ?? {};
    const ended = await kernel.processes.result(pid, { timeoutMs: 20_000 });
    expect(ended.outcome).toMatchObject(outcome);
    await this.expectNothingRuns();
    await checkInvariants(kernel, this.store);
  }
}

/** The guard that a program has started, found by its script. */
function guardsOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const isChild = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === String(parent);
      return isChild && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('tokens=') ? [Number(name)] : [];
    } catch {
      // No process, or one that has ended.
      return [];
    }
  });
}

describe('a kernel that is killed', () => {
  it('before the program was started leaves a failed command, and nothing that runs', async () => {
    const crash = new CommandCrash();
    await (await crash.start('running', '1', 'after')).waitForEnd();
    expect(findOsProcesses(crash.seconds)).toEqual([]);
    await crash.expectEnded(await crash.reopen(), {
      kind: 'failed',
      reason: 'not_started',
      evidence: { survivors: 0 },
    });
  });

  it('after the start of the program and before anybody knew of it leaves a failed command, and nothing that runs', async () => {
    const crash = new CommandCrash();
    await (await crash.start('running', '2', 'before')).waitForEnd();
    await crash.expectEnded(await crash.reopen(), { kind: 'failed', reason: 'not_started' });
  });

  it('while a command runs takes it along: the guard stops it', async () => {
    const crash = new CommandCrash();
    await crash.kill('running', 'guarded');
    await crash.expectNothingRuns();
    const kernel = await crash.reopen();
    expect(kernel.recovery).toMatchObject({ adopted: 0, abandoned: { pid_gone: 1 } });
    await crash.expectEnded(kernel, { kind: 'abandoned', reason: 'pid_gone', evidence: { kind: 'pid_gone' } });
  });

  for (const mode of ['escaped', 'outputOnly', 'inTree'] as const) {
    it(`takes along what has left the group and the environment of a command (${mode})`, async () => {
      const crash = new CommandCrash();
      await crash.kill(mode, 'guarded');
      await crash.expectNothingRuns();
      await crash.expectEnded(await crash.reopen(), { kind: 'abandoned', reason: 'pid_gone' });
    });
  }

  for (const mode of ['escaped', 'outputOnly'] as const) {
    it(`before anybody knew of its command leaves nothing to the next that opens (${mode})`, async () => {
      const crash = new CommandCrash();
      await (await crash.start(mode, '2', 'before')).waitForEnd();
      await crash.expectEnded(await crash.reopen(), { kind: 'failed', reason: 'not_started' });
    });
  }

  it('while a command runs, and a kernel that opens while the guard is at work, agree', async () => {
    const crash = new CommandCrash();
    await crash.kill('running', 'guarded');
    await crash.expectEnded(await crash.reopen(), { kind: 'abandoned', reason: 'pid_gone' });
  });

  it('with its guard leaves a command that the next kernel adopts and can stop', async () => {
    const crash = new CommandCrash();
    await crash.kill('running', 'unguarded');
    expect(findOsProcesses(crash.seconds).length).toBeGreaterThan(1);
    const kernel = await crash.reopen();
    expect(kernel.recovery).toMatchObject({ adopted: 1, abandoned: {} });
    const command = await crash.command(kernel);
    expect(command).toMatchObject({ status: 'running', node: kernel.nodeId });
    await kernel.processes.cancel(command?.pid ?? '', 'found');
    await crash.expectEnded(kernel, { kind: 'cancelled', reason: 'found' });
  });

  it('with its guard leaves a command that dies with the kernel that has adopted it', async () => {
    const crash = new CommandCrash();
    await crash.kill('polite', 'unguarded');
    const adopter = await crash.reopen();
    expect(adopter.recovery.adopted).toBe(1);
    await adopter.shutdown();
    expect(findOsProcesses(crash.seconds)).toEqual([]);
    await crash.expectEnded(await crash.reopen(), { kind: 'abandoned', reason: 'owner_lost' });
  });

  it('leaves a command alone that survives it, and the next kernel has it', async () => {
    const crash = new CommandCrash();
    await crash.kill('survive', 'unguarded');
    const kernel = await crash.reopen();
    expect(kernel.recovery).toMatchObject({ adopted: 1, abandoned: {} });
    const command = await crash.command(kernel);
    await kernel.processes.kill(command?.pid ?? '');
    await crash.expectEnded(kernel, { kind: 'killed' });
  });

  for (const guard of ['guarded', 'unguarded'] as const) {
    it(`while a command was being stopped, ${guard}: the stop goes on, with the reason that was stored`, async () => {
      const crash = new CommandCrash();
      await crash.kill('stopping', guard);
      const kernel = await crash.reopen();
      const { pid = '', status } = (await crash.command(kernel)) ?? {};
      // Its time to end is not over: whoever has it now may shorten that.
      if (status === 'stopping') await kernel.processes.kill(pid, 'now');
      const { outcome } = await kernel.processes.result(pid, { timeoutMs: 20_000 });
      expect(['cancelled', 'killed']).toContain(outcome.kind);
      expect(outcome.reason).toBe(outcome.kind === 'killed' ? 'now' : 'enough');
      await crash.expectNothingRuns();
      await checkInvariants(kernel, crash.store);
    });
  }

  for (const when of ['before', 'after'] as const) {
    it(`${when} a commit of a command, whichever it is, leaves nothing half done`, { timeout: 300_000 }, async () => {
      const stride = isSweep ? 1 : 3;
      for (let at = when === 'before' ? 1 : 2; at < 30; at += stride) {
        const crash = new CommandCrash();
        if (await (await crash.start('running', String(at), when)).waitForEnd()) break;
        const kernel = await crash.reopen();
        const command = await crash.command(kernel);
        if (command !== undefined && command.exitedAt === undefined) {
          await kernel.processes.kill(command.pid);
          await kernel.processes.result(command.pid, { timeoutMs: 20_000 });
        }
        await crash.expectNothingRuns();
        await checkInvariants(kernel, crash.store);
        await kernel.shutdown();
      }
    });
  }
});
