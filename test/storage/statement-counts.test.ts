import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defineImage } from '../../src/index.js';
import { openKernel } from '../support/kernel.js';

interface Counts {
  statements: number;
  commits: number;
}

/** Counts what connections that are opened from now on execute. */
function countStatements(): Counts {
  const counts: Counts = { statements: 0, commits: 0 };
  const prototype = Database.prototype as { prepare: Database.Database['prepare'] };
  const { prepare } = prototype;
  prototype.prepare = function (this: Database.Database, text: string) {
    const statement = prepare.call(this, text) as unknown as Record<
      'run' | 'get' | 'all',
      (...args: unknown[]) => unknown
    >;
    for (const name of ['run', 'get', 'all'] as const) {
      const execute = statement[name];
      statement[name] = function (this: unknown, ...args: unknown[]) {
        counts.statements++;
        if (text === 'COMMIT') counts.commits++;
        return execute.apply(this, args);
      };
    }
    return statement as never;
  } as never;
  onTestFinished(() => {
    prototype.prepare = prepare;
  });
  return counts;
}

const child = defineImage({ name: 'child', run: async () => 1 });
const parent = defineImage({
  name: 'parent',
  run: async (ctx) => (await ctx.wait(await ctx.spawnChild({ image: child }))).value ?? null,
});

describe('with one caller', () => {
  it('a parent that spawns a child and waits for it takes 60 statements and 4 commits at the most', async () => {
    const counts = countStatements();
    const kernel = await openKernel({ images: [child, parent] });
    const live = async () => kernel.processes.value(await kernel.processes.spawn({ image: parent }));
    for (let round = 0; round < 5; round++) expect(await live()).toBe(1);
    const before = { ...counts };
    await live();
    const took = { statements: counts.statements - before.statements, commits: counts.commits - before.commits };
    expect(took.commits).toBe(4);
    expect(took.statements).toBeLessThanOrEqual(60);
  });

  it('a child of a process that is known takes one commit, and reads nothing', async () => {
    const counts = countStatements();
    const kernel = await openKernel({ node: { executor: false } });
    const root = await kernel.processes.spawn({});
    await kernel.processes.spawnChild(root, {});
    const before = { ...counts };
    await kernel.processes.spawnChild(root, {});
    // BEGIN, data_version and COMMIT; six rows of the child and its parent's account; an event and a record.
    const took = { statements: counts.statements - before.statements, commits: counts.commits - before.commits };
    expect(took).toEqual({ statements: 11, commits: 1 });
  });
});
