import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createKernel } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { checkInvariants } from '../support/invariants.js';
import { tempFolder } from '../support/kernel.js';
import { isSweep } from '../support/seeded.js';

const calls = [1, 2, 3].flatMap((n) => [`once ${n}`, `idempotent ${n}`]);

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe('calls of tools in a program that is killed', () => {
  // A pair of calls is four writes; these are the first at which an intent is there and its outcome is not.
  for (const [when, first] of [
    ['before', 3],
    ['after', 2],
  ] as const) {
    it(`${when} a commit, whichever it is: what may happen once does not happen twice, and its outcome is known or said to be unknown`, {
      timeout: 600_000,
    }, async () => {
      const stride = isSweep ? 1 : 4;
      let unknown = 0;
      let points = 0;
      for (let at = isSweep ? 1 : first; ; at += stride) {
        const crash = new ToolCallCrash();
        const killed = await crash.start(String(at), when);
        if (await killed.waitForEnd()) break;
        points++;
        unknown += await crash.finish();
      }
      expect(points).toBeGreaterThan(2);
      expect(unknown).toBeGreaterThan(0);
    });
  }
});

/** One database, and the lines that calls have written. */
class ToolCallCrash {
  private readonly folder = tempFolder();
  private readonly store = join(this.folder, 'calls.db');
  private readonly log = join(this.folder, 'lines.txt');

  async start(...killArgs: string[]): Promise<Program> {
    const program = new Program(join(programs, 'caller.js'), this.store, this.log, ...killArgs);
    await program.waitForLine((line) => line === 'ready');
    program.send('go');
    await program.waitForLine((line) => line === 'open');
    return program;
  }

  /** Runs it to its end. Answers with how many calls nobody knows the outcome of. */
  async finish(): Promise<number> {
    const program = await this.start();
    const line = await program.waitForLine((text) => text.startsWith('result'));
    await program.expectSuccess();
    const answers = JSON.parse(line.slice('result '.length)) as string[];
    const unknown = answers.filter((answer) => answer === 'OUTCOME_UNKNOWN');
    expect(answers).toEqual(calls.map((call, index) => (answers[index] === 'OUTCOME_UNKNOWN' ? answers[index] : call)));
    expect(answers.every((answer, index) => answer !== 'OUTCOME_UNKNOWN' || index % 2 === 0)).toBe(true);
    const lines = this.lines();
    for (const [index, call] of calls.entries()) {
      const times = lines.filter((line) => line === call).length;
      if (index % 2 === 1) expect({ call, isDone: times >= 1 }).toEqual({ call, isDone: true });
      else if (answers[index] === call) expect({ call, times }).toEqual({ call, times: 1 });
      else expect({ call, atMostOnce: times <= 1 }).toEqual({ call, atMostOnce: true });
    }
    const kernel = await createKernel({ logger: 'silent', store: this.store, node: { executor: false } });
    await checkInvariants(kernel, this.store);
    await kernel.shutdown();
    return unknown.length;
  }

  private lines(): string[] {
    try {
      return readFileSync(this.log, 'utf8').split('\n').slice(0, -1);
    } catch {
      // No call has got so far.
      return [];
    }
  }
}
