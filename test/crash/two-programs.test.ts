import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { openKernel, tempFolder } from '../support/kernel.js';
import { runsInSweep } from '../support/seeded.js';
import { findInconsistencies } from '../support/store-consistency.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe('two programs on one file', () => {
  it('see, signal, charge, end and wait for the processes of each other; every count is exact', async () => {
    const each = 150;
    const store = join(tempFolder(), 'shared.db');
    const kernel = await openKernel({ store });
    const root = await kernel.processes.spawn({ budget: { children: 2 * each, tokens: 2 * each } });
    const both = ['left', 'right'].map(
      (name) => new Program(join(programs, 'neighbour.js'), store, name, String(each)),
    );
    for (const program of both) await program.waitForLine((line) => line === 'ready');
    for (const program of both) program.send(root);
    const answers = await Promise.all(
      both.map((program) => program.waitForLine((line) => /^(done|failed)/.test(line))),
    );
    expect(answers).toEqual(['done', 'done']);
    await Promise.all(both.map((program) => program.expectSuccess()));
    const children = await kernel.processes.children(root);
    expect(children.filter(({ status }) => status === 'exited')).toHaveLength(2 * each);
    const budget = await kernel.processes.budget(root);
    expect([budget.children.used, budget.tokens.used]).toEqual([0, 2 * each]);
    const signalled = await kernel.events.list({ types: ['process.signalled'], limit: 1_000 });
    expect(signalled.items).toHaveLength(2 * each);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('can both ask for more at once than the file takes in the time that a busy file is waited for', {
    timeout: 120_000,
  }, async () => {
    const each = runsInSweep(10_000);
    const store = join(tempFolder(), 'burst.db');
    const kernel = await openKernel({ store, durability: 'normal' });
    const root = await kernel.processes.spawn({ budget: { children: 2 * each } });
    const both = Array.from({ length: 2 }, () => new Program(join(programs, 'burst.js'), store, String(each)));
    for (const program of both) program.send(root);
    const answers = await Promise.all(both.map((program) => program.waitForLine((line) => line.startsWith('refused'))));
    expect(answers).toEqual(['refused: ', 'refused: ']);
    await Promise.all(both.map((program) => program.expectSuccess()));
    expect((await kernel.processes.budget(root)).children).toMatchObject({ used: 2 * each, left: 0 });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('create it at the same time and both work', async () => {
    for (let round = 0; round < 3; round++) {
      const store = join(tempFolder(), 'new.db');
      const all = Array.from({ length: 3 }, () => new Program(join(programs, 'creator.js'), store));
      for (const program of all) await program.waitForLine((line) => line === 'ready');
      for (const program of all) program.send('go');
      await Promise.all(all.map((program) => program.expectSuccess()));
      const kernel = await openKernel({ store });
      expect((await kernel.processes.list()).items).toHaveLength(3);
      expect(await findInconsistencies(kernel)).toEqual([]);
      await kernel.shutdown();
    }
  });
});
