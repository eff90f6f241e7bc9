import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';

/** The statements that connections have executed. */
export interface StatementCounts {
  statements: number;
  /** Those that read rows. */
  reads: number;
  commits: number;
  /** Transactions that may write: each has the write lock of the file. */
  groups: number;
}

/** Counts what connections that are opened from now on execute. */
export function countStatements(): StatementCounts {
  const counts: StatementCounts = { statements: 0, reads: 0, commits: 0, groups: 0 };
  const prototype = Database.prototype as { prepare: Database.Database['prepare'] };
  const { prepare } = prototype;
  prototype.prepare = function (this: Database.Database, text: string) {
    const statement = prepare.call(this, text) as unknown as Record<
      'run' | 'get' | 'all',
      (...args: unknown[]) => unknown
    >;
    const isRead = /^\s*(select|with)\b/i.test(text);
    for (const name of ['run', 'get', 'all'] as const) {
      const execute = statement[name];
      statement[name] = function (this: unknown, ...args: unknown[]) {
        counts.statements++;
        if (isRead) counts.reads++;
        if (text === 'COMMIT') counts.commits++;
        if (text === 'BEGIN IMMEDIATE') counts.groups++;
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

/** What `work` has made connections execute. */
export async function countDuring(counts: StatementCounts, work: () => Promise<unknown>): Promise<StatementCounts> {
  const before = { ...counts };
  await work();
  return {
    statements: counts.statements - before.statements,
    reads: counts.reads - before.reads,
    commits: counts.commits - before.commits,
    groups: counts.groups - before.groups,
  };
}
