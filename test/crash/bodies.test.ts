import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { createKernel, type Kernel } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { tempFolder } from '../support/kernel.js';
import { isSweep, runsInSweep } from '../support/seeded.js';
import { findInconsistencies } from '../support/store-consistency.js';

const expectedLines = ['parent', 'a', 'b', 'c'].flatMap((who) => [1, 2, 3, 4, 5].map((n) => `${who} ${n}`));
const kills = runsInSweep(30);

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe('bodies of a program that is killed', () => {
  it('at random moments go on where they were, and end with the same result', { timeout: 120_000 }, async () => {
    const team = new Team();
    let isDone = false;
    for (let kill = 0; !isDone && kill < kills; kill++) {
      const program = await team.start();
      const ended = program.waitForLine((line) => line.startsWith('result'));
      isDone = await Promise.race([ended.then(() => true), sleep(Math.random() * (40 + 10 * kill)).then(() => false)]);
      ended.catch(() => undefined);
      if (!isDone) {
        await program.kill();
        await team.check();
      } else await team.expectResult(program);
    }
    expect(isDone || (await team.finish())).toBe(true);
  });

  for (const when of ['before', 'after'] as const) {
    it(`${when} a commit, whichever it is, go on as if nothing had happened`, { timeout: 600_000 }, async () => {
      // A few of the fault points in every run of the tests, all of them in a sweep.
      const stride = isSweep ? 1 : 20;
      let points = 0;
      for (let at = Math.ceil(stride / 2); ; at += stride) {
        const team = new Team();
        const killed = await team.start(String(at), when);
        // The last points are in the shutdown, when the result is known: then it was not killed at all.
        if (await killed.waitForEnd()) break;
        points++;
        await team.check();
        await team.finish();
      }
      expect(points).toBeGreaterThan(isSweep ? 40 : 1);
    });
  }
});

/** One database and the lines that its steps have written. */
class Team {
  private readonly folder = tempFolder();
  private readonly store = join(this.folder, 'team.db');
  private readonly log = join(this.folder, 'lines.txt');
  /** The number of times that each step had run when it was first found completed. */
  private readonly completed = new Map<string, number>();

  async start(...killArgs: string[]): Promise<Program> {
    const program = new Program(join(programs, 'team.js'), this.store, this.log, ...killArgs);
    await program.waitForLine((line) => line === 'ready');
    program.send('go');
    await program.waitForLine((line) => line === 'open');
    return program;
  }

  /** Runs it to its end. */
  async finish(): Promise<boolean> {
    const program = await this.start();
    await this.expectResult(program);
    return true;
  }

  async expectResult(program: Program): Promise<void> {
    const line = await program.waitForLine((text) => text.startsWith('result'));
    expect(JSON.parse(line.slice('result '.length))).toEqual(expectedLines);
    await program.expectSuccess();
    await this.check();
    expect([...new Set(this.lines())].sort()).toEqual([...expectedLines].sort());
  }

  /** A step that is completed has not run again; there are no children but three; nothing is half done. */
  async check(): Promise<void> {
    const kernel = await createKernel({ logger: 'silent', store: this.store, node: { executor: false } });
    try {
      const lines = this.lines();
      for (const step of await completedSteps(kernel)) {
        const times = lines.filter((line) => line === step).length;
        if (!this.completed.has(step)) this.completed.set(step, times);
        expect({ step, times }).toEqual({ step, times: this.completed.get(step) });
      }
      const [root] = (await kernel.processes.list({ image: 'parent' })).items;
      const children = root === undefined ? [] : await kernel.processes.children(root.pid);
      const names = children.map(({ pid }) => pid);
      expect(names.length).toBeLessThanOrEqual(3);
      expect(await findInconsistencies(kernel)).toEqual([]);
    } finally {
      await kernel.shutdown();
    }
  }

  private lines(): string[] {
    try {
      return readFileSync(this.log, 'utf8').split('\n').slice(0, -1);
    } catch {
      // No step has run yet.
      return [];
    }
  }
}

/** As their lines in the file. */
async function completedSteps(kernel: Kernel): Promise<string[]> {
  const steps: string[] = [];
  for await (const { pid, data } of stepsCompleted(kernel)) {
    const { image } = await kernel.processes.get(pid);
    const siblings = await kernel.processes.list({ image: 'child' });
    const who = image.startsWith('parent')
      ? 'parent'
      : 'abc'.charAt(siblings.items.findIndex((row) => row.pid === pid));
    steps.push(`${who} ${data.name.slice('step '.length)}`);
  }
  return steps;
}

async function* stepsCompleted(kernel: Kernel): AsyncGenerator<{ pid: string; data: { name: string } }> {
  const { items } = await kernel.events.list({ types: ['step.completed'], limit: 1_000 });
  for (const { pid, data } of items) yield { pid: pid ?? '', data: data as { name: string } };
}
