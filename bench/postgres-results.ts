import type { Comparison, RunSetting } from './peer-results.js';
import { median } from './support.js';

/** What bench/postgres-results.json has. */
export interface PostgresResults extends RunSetting {
  readonly comparisons: readonly Comparison[];
  readonly sums: readonly NodeSum[];
}

/** Children that nodes on one schema spawn together. */
export interface NodeSum {
  readonly nodes: number;
  /** Of each node. */
  readonly callers: number;
  /** Spawns per second of all nodes together, in each round. */
  readonly perSecond: readonly number[];
}

/** What several nodes do together, as a table in Markdown: a row for each number of nodes, a column for each number of callers. */
export function sumsTable({ sums }: PostgresResults): string {
  const callerCounts = [...new Set(sums.map(({ callers }) => callers))];
  const nodeCounts = [...new Set(sums.map(({ nodes }) => nodes))];
  const lines = nodeCounts.map((nodes) => {
    const cells = callerCounts.map((callers) =>
      sumText(sums.find((sum) => sum.nodes === nodes && sum.callers === callers)),
    );
    return `| ${[nodes, ...cells].join(' | ')} |`;
  });
  const heads = callerCounts.map((callers) => (callers === 1 ? '1 caller each' : `${callers} callers each`));
  return [`| node processes | ${heads.join(' | ')} |`, `|--:|${heads.map(() => '--:|').join('')}`, ...lines].join('\n');
}

function sumText(sum: NodeSum | undefined): string {
  if (sum === undefined) return '';
  const [least, most] = [Math.min(...sum.perSecond), Math.max(...sum.perSecond)];
  return `**${whole(median(sum.perSecond))}** (${whole(least)}–${whole(most)})`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
