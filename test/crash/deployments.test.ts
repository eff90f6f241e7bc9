import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { eventually } from '../support/eventually.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, tempFolder } from '../support/kernel.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

function start(name: string, ...args: string[]): Program {
  const program = new Program(join(programs, `${name}.js`), ...args);
  onTestFinished(() => program.kill());
  program.send('go');
  return program;
}

async function resultOf(program: Program): Promise<unknown> {
  const line = await program.waitForLine((text) => text.startsWith('result'));
  await program.expectSuccess();
  return JSON.parse(line.slice('result '.length));
}

describe('a bad deployment after a crash', () => {
  it('leaves the process waiting for code with its child alive, and the rollback goes on with both', {
    timeout: 120_000,
  }, async () => {
    const folder = tempFolder();
    const [store, log] = [join(folder, 'orders.db'), join(folder, 'lines.txt')];
    const first = start('deployed', store, log, 'good', 'hold');
    await first.waitForLine((line) => line === 'paying');
    const kernel = await openKernel({ store, node: { executor: false, pollMs: 20 } });
    const pid = (await kernel.processes.find(null, 'order')) ?? '';
    const [child] = await kernel.processes.children(pid);
    await eventually(async () => expect((await kernel.processes.get(child?.pid ?? '')).status).toBe('waiting'));
    await first.kill();

    const bad = start('deployed', store, log, 'bad');
    await bad.waitForLine((line) => line.startsWith('open'));
    await eventually(async () => expect((await kernel.processes.get(pid)).wait?.kind).toBe('code'));
    expect((await kernel.processes.get(pid)).wait).toMatchObject({
      what: 'order@1',
      recorded: 'step reserve #1',
      asked: 'step reserve stock #1',
      builds: ['bad'],
    });
    expect((await kernel.processes.children(pid)).map((row) => [row.pid, row.outcome])).toEqual([
      [child?.pid, undefined],
    ]);
    await bad.kill();

    const rollback = start('deployed', store, log, 'good');
    expect(await resultOf(rollback)).toEqual(['reserved', 'paid', 'shipped: go']);
    expect(await kernel.processes.children(pid)).toHaveLength(1);
    // The call that was under way when the first program died was made again, and charged once.
    expect((await kernel.processes.get(pid)).used.toolCalls).toBe(1);
    expect(readFileSync(log, 'utf8')).toBe('reserve\npack\n');
    await checkInvariants(kernel, store);
  });
});

describe('a process whose step takes its program down', () => {
  it('fails as poisoned after five programs, and its neighbour survives', { timeout: 120_000 }, async () => {
    const store = join(tempFolder(), 'poisoned.db');
    const neighbours: boolean[] = [];
    let program: Program;
    for (;;) {
      program = start('poisoned', store, neighbours.length < 2 ? 'both' : 'one');
      if (await program.waitForEnd()) break;
      neighbours.push(program.lines.includes('neighbour'));
    }
    // From the third start on, they do not run together.
    expect(neighbours).toEqual([true, true, false, false, false]);
    expect(await resultOf(program)).toEqual([
      {
        kind: 'failed',
        reason: 'poisoned',
        evidence: { kind: 'poisoned', recoveries: 5, step: 'step explode #1' },
      },
      'survived',
    ]);
    const kernel = await openKernel({ store, node: { executor: false } });
    await checkInvariants(kernel, store);
  });
});
