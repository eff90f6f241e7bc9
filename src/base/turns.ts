import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work that has taken this long lets the event loop go on before it continues. */
const turnMs = 10;

/**
 * Divides long work into turns of the event loop, so that timers, requests and other calls are served meanwhile. Inside a
 * write unit the transaction stays open: other units wait, the event loop does not.
 */
export class Turns {
  private startedAt = performance.now();

  /** To be awaited between the parts of the work. Resolves at once unless the turn has taken long enough. */
  next(): Promise<void> | undefined {
    return performance.now() - this.startedAt < turnMs ? undefined : this.takeTurn();
  }

  private async takeTurn(): Promise<void> {
    await nextTurn();
    this.startedAt = performance.now();
  }
}

/** As `Array.prototype.sort`, divided into turns: parts that are sorted at once, and merged. */
export async function sortInTurns<T>(items: T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const turns = new Turns();
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += sortedAtOnce) {
    await turns.next();
    runs.push(items.slice(from, from + sortedAtOnce).sort(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let index = 0; index < runs.length; index += 2)
      merged.push(await mergeRuns(runs[index] ?? [], runs[index + 1] ?? [], compare, turns));
    runs = merged;
  }
  return runs[0] ?? [];
}

const sortedAtOnce = 1_000;

async function mergeRuns<T>(a: T[], b: T[], compare: (a: T, b: T) => number, turns: Turns): Promise<T[]> {
  if (b.length === 0) return a;
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (merged.length % sortedAtOnce === 0) await turns.next();
    const [left, right] = [a[i] as T, b[j] as T];
    if (compare(left, right) <= 0) {
      merged.push(left);
      i++;
    } else {
      merged.push(right);
      j++;
    }
  }
  return merged.concat(a.slice(i), b.slice(j));
}
