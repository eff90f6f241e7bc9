import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { findOsProcesses, uniqueSeconds } from '../support/command-fixture.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { eventually } from '../support/eventually.js';
import { foreignProgram, idle, isLive } from '../support/foreign-program.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, tempFolder } from '../support/kernel.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe('a kernel that is killed', () => {
  it('leaves an adopted program alone, whatever its guard stops, and the next kernel has it', async () => {
    const workspace = tempFolder();
    const store = join(workspace, 'crash.db');
    const seconds = uniqueSeconds();
    const { osPid } = await foreignProgram(idle());
    const program = new Program(join(programs, 'adopter.js'), store, workspace, seconds, String(osPid));
    await program.waitForLine((line) => line === 'ready');
    program.send('go');
    let pid = '';
    await program.waitForLine((line) => {
      [, pid = ''] = line.split(' ');
      return line.startsWith('up ');
    });
    await program.kill();
    await eventually(() => expect(findOsProcesses(seconds)).toEqual([]));
    expect(isLive(osPid)).toBe(true);
    const kernel = await openKernel({ store, workspace });
    expect(kernel.recovery).toMatchObject({ adopted: 1 });
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'running', node: kernel.nodeId });
    await kernel.processes.cancel(pid, 'found');
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'cancelled', reason: 'found' });
    expect(isLive(osPid)).toBe(false);
    await checkInvariants(kernel, store);
  });
});
