import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import type { ProcessRow } from './process.js';
import type { ProcessRepository } from './process-repository.js';

/** The rows of a tree, parents before children. */
export interface TreeRows {
  readonly rows: readonly ProcessRow[];
  /** The processes of `rows` of whose children some are missing, because the tree has too many processes. */
  readonly cut: ReadonlySet<Pid>;
}

const treeRowsMax = 10_000;
const partParents = 250;
const pageRows = 500;

/** Reads a process and what is below it, level by level and in pages, 10,000 processes at most. */
export async function readTree(
  processes: ProcessRepository,
  tx: ReadTx,
  top: ProcessRow,
  depth: number,
): Promise<TreeRows> {
  const rows = [top];
  const cut = new Set<Pid>();
  const turns = new Turns();
  let level = [top.pid];
  for (let below = 0; below < depth && level.length > 0; below++) {
    const children: ProcessRow[] = [];
    for (let from = 0; from < level.length; from += partParents) {
      const parents = level.slice(from, from + partParents);
      let after = 0;
      for (;;) {
        await turns.next();
        const limit = Math.min(pageRows, treeRowsMax - rows.length - children.length);
        const page = limit === 0 ? [] : await processes.findChildren(tx, parents, after, limit);
        children.push(...page);
        after = page.at(-1)?.n ?? after;
        if (page.length < pageRows) break;
      }
      if (rows.length + children.length < treeRowsMax) continue;
      for (const pid of await processes.findParentsOf(tx, parents, after)) cut.add(pid);
    }
    rows.push(...children);
    level = children.map(({ pid }) => pid);
  }
  return { rows, cut };
}
