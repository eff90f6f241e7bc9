import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, tempFolder } from '../support/kernel.js';
import { isAlive } from '../support/os-processes.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

const limit = 2_000_000;
const flood = 60_000_000;
const tolerance = 1_048_576;

/** The process that copies the output of a program's commands, found by its script. */
function copiersOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const isChild = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === String(parent);
      return isChild && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('roomOf') ? [Number(name)] : [];
    } catch {
      // No process, or one that has ended.
      return [];
    }
  });
}

describe.runIf(process.platform === 'linux')('the limit of outputBytes of a kernel that is killed', () => {
  for (const survive of ['survive', 'guarded'] as const) {
    it(`holds for its commands, and the process that copies ends with them (${survive})`, async () => {
      const workspace = tempFolder();
      const store = join(workspace, 'crash.db');
      const program = new Program(
        join(programs, 'flooder.js'),
        store,
        workspace,
        String(limit),
        String(flood),
        survive,
      );
      await program.waitForLine((line) => line === 'ready');
      program.send('go');
      const [, pid = '', owner = ''] = (await program.waitForLine((line) => line.startsWith('up '))).split(' ');
      const copiers = copiersOf(program.pid);
      expect(copiers).toHaveLength(1);
      await program.kill();
      writeFileSync(join(workspace, 'go'), '');
      await expect.poll(() => isAlive(copiers[0] ?? 0), { timeout: 60_000 }).toBe(false);
      const folder = `${store}.state/output`;
      const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
      expect(bytes).toBeLessThanOrEqual(limit + tolerance);
      if (survive === 'survive') expect(bytes).toBeGreaterThan(limit);
      const kernel = await openKernel({ store, workspace });
      // The program itself may still be about to end.
      const { outcome } = await kernel.processes.result(pid, { timeoutMs: 60_000 });
      expect(outcome.kind === 'abandoned' || outcome.kind === 'budget_exhausted').toBe(true);
      expect((await kernel.processes.budget(owner)).outputBytes.used).toBe(bytes);
      await checkInvariants(kernel, store);
    });
  }
});
