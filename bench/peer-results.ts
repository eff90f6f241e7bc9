import type { Machine } from './machine.js';
import { median } from './support.js';

/** Where, with what and how long it was measured. */
export interface RunSetting {
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly durationMs: number;
}

/** What bench/peers-results.json has. */
export interface PeerResults extends RunSetting {
  /** Of one parent and its child, by side; with one caller where nothing else is said. */
  readonly counts: Readonly<Record<string, StatementCounts>>;
  readonly comparisons: readonly Comparison[];
}

/** Rounds that took turns. */
export interface Comparison {
  readonly durability: 'full' | 'normal';
  readonly workload: keyof typeof workloadNames;
  readonly callers: number;
  readonly sides: Readonly<Record<string, SideRates>>;
}

export interface SideRates {
  /** Operations per second of each round. */
  readonly perSecond: readonly number[];
  /** CPU time per operation, the median of the rounds. */
  readonly cpuUs: number;
}

export interface StatementCounts {
  /** The sum of the next three. */
  readonly statements: number;
  readonly reads: number;
  readonly writes: number;
  readonly control: number;
  /** Commits that had written something. */
  readonly commits: number;
}

export const sideNames: Readonly<Record<string, string>> = {
  procura: 'Procura',
  'procura, 32': 'Procura, 32 callers',
  langgraph: 'LangGraph JS, SQLite',
  dbos: 'DBOS, PostgreSQL',
  raw: 'raw better-sqlite3, the same writes',
  pg: 'raw pg, the same rows',
};
export const workloadNames = { 'parent-child': 'parent and child', step: 'one step', spawn: 'spawnChild' } as const;

/** The speed of Procura against another side: the median of the rounds' ratios, with the smallest and the largest. */
export function ratiosOf({ sides }: Comparison, other: string): { median: number; min: number; max: number } {
  const theirs = sides[other]?.perSecond ?? [];
  const ratios = (sides.procura?.perSecond ?? []).map((ours, round) => ours / (theirs[round] ?? Number.NaN));
  return { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
}

/** The comparisons as a table in Markdown. */
export function ratesTable({ comparisons }: Pick<PeerResults, 'comparisons'>): string {
  const lines = comparisons.flatMap((comparison) =>
    Object.entries(comparison.sides).map(([name, { perSecond, cpuUs }]) => {
      const { durability, workload, callers } = comparison;
      const ratio = name === 'procura' ? '' : ratioText(ratiosOf(comparison, name));
      const spread = `${whole(Math.min(...perSecond))}–${whole(Math.max(...perSecond))}`;
      const figures = [whole(median(perSecond)), spread, whole(cpuUs), ratio];
      return `| ${[workloadNames[workload], durability, callers, sideNames[name] ?? name, ...figures].join(' | ')} |`;
    }),
  );
  return [
    '| work | durability | callers | | per second | min–max | CPU, µs each | Procura is |',
    '|---|---|--:|---|--:|--:|--:|--:|',
    ...lines,
  ].join('\n');
}

/** Statements and commits as a table in Markdown. */
export function countsTable({ counts }: PeerResults): string {
  const lines = Object.entries(sideNames).flatMap(([name, sideName]) => {
    const count = counts[name];
    if (count === undefined) return [];
    const { statements, reads, writes, control, commits } = count;
    return [`| ${[sideName, ...[statements, reads, writes, control, commits].map(tenths)].join(' | ')} |`];
  });
  return [
    '| a parent and its child | statements | reads | writes | BEGIN, COMMIT, SAVEPOINT, RELEASE | commits |',
    '|---|--:|--:|--:|--:|--:|',
    ...lines,
  ].join('\n');
}

/** Where and with what it was measured. */
export function settingText({ machine, versions, rounds, durationMs }: RunSetting): string {
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const measured = `${rounds} rounds of ${durationMs / 1_000} s each, after one that does not count`;
  const host = `Node ${machine.node.slice(1)}, ${machine.cores} cores (${machine.cpu})`;
  const load = `load average ${machine.loadBefore} before and ${machine.loadAfter} after`;
  return `${host}, ${load}; ${packages.join(', ')}; ${measured}.`;
}

function ratioText({ median: middle, min, max }: { median: number; min: number; max: number }): string {
  return `**${middle.toFixed(2)}×** (${min.toFixed(2)}–${max.toFixed(2)})`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function tenths(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 1 });
}
