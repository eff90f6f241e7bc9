import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createKernel, type Kernel } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { tempFolder } from '../support/kernel.js';
import { isSweep } from '../support/seeded.js';
import { findInconsistencies } from '../support/store-consistency.js';

const effects = ['did first', 'did second', 'did third', 'did fourth'];

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe('an agent of LangChain whose program is killed', () => {
  it('after its second effect goes on with the next turn: nothing is asked or done twice', async () => {
    const clerk = new Clerk();
    const held = await clerk.start('0', 'hold');
    await held.waitForLine((line) => line === 'held');
    await held.kill();
    expect(clerk.lines()).toEqual(['asked 0', 'did first', 'asked 1', 'did second']);
    await clerk.check();
    const messages = await clerk.finish();
    const [first, second, third, fourth] = ['wrote first', 'wrote second', 'wrote third', 'wrote fourth'];
    expect(messages).toEqual(['Take notes.', '', first, '', second, '', third, fourth, 'noted']);
    expect(clerk.lines().slice(0, 5)).toEqual(['asked 0', 'did first', 'asked 1', 'did second', 'asked 2']);
    expect(clerk.lines().slice(5, 7).sort()).toEqual(['did fourth', 'did third']);
    expect(clerk.lines().slice(7)).toEqual(['asked 3']);
  });

  for (const when of ['before', 'after'] as const) {
    it(`${when} a commit, whichever it is, asks no completed turn again and has no effect twice`, {
      timeout: 900_000,
    }, async () => {
      const stride = isSweep ? 1 : 9;
      let points = 0;
      for (let at = Math.ceil(stride / 2); ; at += stride) {
        const clerk = new Clerk();
        const killed = await clerk.start(String(at), when);
        // The last points are in the shutdown, when the result is known: then it was not killed at all.
        if (await killed.waitForEnd()) break;
        points++;
        await clerk.check();
        await clerk.finish();
      }
      expect(points).toBeGreaterThan(isSweep ? 20 : 1);
    });
  }
});

/** One database, and the file of what was asked and done. */
class Clerk {
  private readonly folder = tempFolder();
  private readonly store = join(this.folder, 'clerk.db');
  private readonly log = join(this.folder, 'lines.txt');
  /** The number of times that each turn was asked when it was first found completed. */
  private readonly completed = new Map<number, number>();

  async start(...killArgs: string[]): Promise<Program> {
    const program = new Program(join(programs, 'langchain-agent.js'), this.store, this.log, ...killArgs);
    onTestFinished(() => program.kill());
    await program.waitForLine((line) => line === 'ready');
    program.send('go');
    await program.waitForLine((line) => line === 'open');
    return program;
  }

  /** Runs it to its end, and answers with the texts of its messages. */
  async finish(): Promise<string[]> {
    const program = await this.start();
    const line = await program.waitForLine((text) => text.startsWith('result'));
    await program.expectSuccess();
    await this.check();
    const messages = JSON.parse(line.slice('result '.length)) as string[];
    expect(messages.at(-1)).toBe('noted');
    return messages;
  }

  lines(): string[] {
    try {
      return readFileSync(this.log, 'utf8').split('\n').slice(0, -1);
    } catch {
      // Nothing has happened yet.
      return [];
    }
  }

  /** Turns that are completed are not asked again, and no effect happens twice. */
  async check(): Promise<void> {
    const kernel = await createKernel({ logger: 'silent', store: this.store, node: { executor: false } });
    try {
      const { items } = await kernel.events.list({ types: ['step.completed'], limit: 1_000 });
      const lines = this.lines();
      for (const turn of items.keys()) {
        const times = lines.filter((line) => line === `asked ${turn}`).length;
        if (!this.completed.has(turn)) this.completed.set(turn, times);
        expect(times).toBeGreaterThan(0);
        expect({ turn, times }).toEqual({ turn, times: this.completed.get(turn) });
      }
      const done = lines.filter((line) => line.startsWith('did'));
      expect(done).toEqual([...new Set(done)]);
      expect(effects).toEqual(expect.arrayContaining(done));
      await expectPaidOnce(kernel, items.length);
      expect(await findInconsistencies(kernel)).toEqual([]);
    } finally {
      await kernel.shutdown();
    }
  }
}

/** Every turn costs 15 tokens; the last that is completed may not be charged yet. */
async function expectPaidOnce(kernel: Kernel, turns: number): Promise<void> {
  const [clerk] = (await kernel.processes.list({ image: 'clerk' })).items;
  if (clerk === undefined) return;
  const { tokens } = await kernel.processes.budget(clerk.pid);
  expect(tokens.used % 15).toBe(0);
  expect(tokens.used).toBeLessThanOrEqual(15 * turns);
  if (clerk.status === 'exited') expect([turns, tokens.used, tokens.reserved]).toEqual([4, 60, 0]);
}
