import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { createKernel, type Kernel } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { openKernel, tempFolder } from '../support/kernel.js';
import { runsInSweep } from '../support/seeded.js';
import { findInconsistencies } from '../support/store-consistency.js';

const kills = runsInSweep(50);
const creations = runsInSweep(15);
let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe('a program that is killed while it spawns and ends processes', () => {
  it(`leaves everything that was acknowledged and nothing half done, ${kills} times on one file`, {
    timeout: 180_000,
  }, async () => {
    const store = join(tempFolder(), 'killed.db');
    const start = () => new Program(join(programs, 'spawn-and-exit.js'), store);
    const spawned = new Set<string>();
    const ended = new Set<string>();
    let next = start();
    for (let kill = 1; kill <= kills; kill++) {
      const program = next;
      await program.waitForLine((line) => line === 'ready');
      program.send('go');
      await program.waitForLine((line) => line === 'open');
      if (kill < kills) next = start();
      const linesMin = 2 + (kill % 10) * 4;
      await program.waitForLine(() => program.lines.length >= linesMin);
      await sleep(Math.random() * 20);
      await program.kill();
      for (const line of program.lines) {
        const [what, pid] = line.split(' ');
        if (what === 'spawned' && pid !== undefined) spawned.add(pid);
        if (what === 'ended' && pid !== undefined) ended.add(pid);
      }
      const kernel = await createKernel({ logger: 'silent', store, node: { executor: false } });
      expect({ kill, lost: await findLost(kernel, spawned, ended), faults: await findInconsistencies(kernel) }).toEqual(
        {
          kill,
          lost: [],
          faults: [],
        },
      );
      await kernel.shutdown();
    }
    expect(spawned.size).toBeGreaterThan(kills);
    expect(ended.size).toBeGreaterThan(kills);
  });
});

describe('a program that works beside others that are killed', () => {
  it('is not hindered: every call succeeds and every count is exact', async () => {
    const store = join(tempFolder(), 'beside.db');
    const kernel = await openKernel({ store });
    const root = await kernel.processes.spawn({});
    let spawned = 0;
    let isOver = false;
    const working = (async () => {
      for (; !isOver; spawned++) await kernel.processes.exit(await kernel.processes.spawnChild(root, {}));
    })();
    for (let kill = 0; kill < 10; kill++) {
      const program = new Program(join(programs, 'spawn-and-exit.js'), store);
      program.send('go');
      await program.waitForLine((line) => line.startsWith('spawned'));
      await sleep(Math.random() * 100);
      await program.kill();
    }
    isOver = true;
    await working;
    expect(await kernel.processes.children(root)).toHaveLength(spawned);
    expect((await kernel.processes.budget(root)).children.used).toBe(0);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

/** Acknowledged calls whose effect is not in the database. */
async function findLost(kernel: Kernel, spawned: ReadonlySet<string>, ended: ReadonlySet<string>): Promise<string[]> {
  const hasEnded = new Map<string, boolean>();
  let after: string | undefined;
  do {
    const page = await kernel.processes.list({ limit: 1_000, ...(after === undefined ? {} : { after }) });
    for (const { pid, exitedAt } of page.items) hasEnded.set(pid, exitedAt !== undefined);
    after = page.next;
  } while (after !== undefined);
  const missing = [...spawned].filter((pid) => !hasEnded.has(pid)).map((pid) => `${pid} was spawned`);
  return [...missing, ...[...ended].filter((pid) => hasEnded.get(pid) !== true).map((pid) => `${pid} had ended`)];
}

describe('a program that is killed while it creates its database', () => {
  it('leaves a file that opens or is created anew', { timeout: 120_000 }, async () => {
    const start = (store: string) => ({ store, program: new Program(join(programs, 'spawn-and-exit.js'), store) });
    let next = start(join(tempFolder(), 'new.db'));
    let begun = 0;
    for (let kill = 0; kill < creations; kill++) {
      const { store, program } = next;
      await program.waitForLine((line) => line === 'ready');
      program.send('go');
      next = start(join(tempFolder(), 'new.db'));
      // Most die after the file is there and before they are done with it, some at any other moment.
      while (kill % 5 > 0 && !existsSync(store)) await sleep(0);
      await sleep(Math.random() * 15);
      await program.kill();
      if (existsSync(store)) begun++;
      const acknowledged = program.lines.filter((line) => line.startsWith('spawned')).length;
      const kernel = await openKernel({ store });
      expect({ kill, faults: await findInconsistencies(kernel) }).toEqual({ kill, faults: [] });
      expect((await kernel.processes.list({ limit: 10_000 })).items.length).toBeGreaterThanOrEqual(acknowledged);
      await kernel.processes.spawn({});
      await kernel.shutdown();
    }
    await next.program.kill();
    expect(begun).toBeGreaterThanOrEqual(creations / 2);
  });
});
