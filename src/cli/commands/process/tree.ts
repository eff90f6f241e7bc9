import type { Kernel, Page, ProcessRecord, ProcessTree } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, paintStatus, writeJson, writeLine } from '../../output.js';
import { findPid, fullName, shortNames } from '../../pids.js';
import { safeText } from '../../safe-text.js';

interface TreeOptions extends CommonOptions {
  readonly full?: boolean;
}

const pageRows = 10_000;

/** Draws the tree under one process, or under every root. */
export async function tree(pidOrSuffix: string | undefined, options: TreeOptions): Promise<void> {
  await withReadOnlyStore(options, async (kernel) => {
    const roots = pidOrSuffix === undefined ? await rootsOf(kernel) : [await findPid(kernel, pidOrSuffix)];
    const trees: ProcessTree[] = [];
    for (const root of roots) trees.push(await kernel.processes.tree(root));
    if (options.json === true) return writeJson(pidOrSuffix === undefined ? trees : trees[0]);
    const name = options.full === true ? fullName : shortNames(trees.flatMap(pidsOf));
    for (const top of trees) for (const line of draw(top, name)) await writeLine(line);
  });
}

async function rootsOf(kernel: Kernel): Promise<string[]> {
  const roots: string[] = [];
  let after: string | undefined;
  do {
    const page: Page<ProcessRecord> = await kernel.processes.list({
      limit: pageRows,
      ...(after === undefined ? {} : { after }),
    });
    for (const { pid, parent } of page.items) if (parent === null) roots.push(pid);
    after = page.next;
  } while (after !== undefined);
  return roots;
}

function pidsOf(tree: ProcessTree): string[] {
  return [tree.pid, ...tree.children.flatMap(pidsOf)];
}

function draw(tree: ProcessTree, name: (pid: string) => string): string[] {
  const lines = tree.children.flatMap((child, index) => {
    const last = index === tree.children.length - 1 && tree.more !== true;
    const [head = '', ...rest] = draw(child, name);
    return [`${last ? '└─ ' : '├─ '}${head}`, ...rest.map((line) => `${last ? '   ' : '│  '}${line}`)];
  });
  if (tree.more) lines.push(`└─ … more: a tree is cut at 10,000 processes, look at one of them`);
  return [labelOf(tree, name), ...lines];
}

function labelOf(
  { pid, name: processName, image, status, outcome }: ProcessTree,
  name: (pid: string) => string,
): string {
  const title = processName === undefined ? safeText(image, 40) : safeText(processName, 40);
  const outcomeNote = outcome === undefined || outcome.kind === status ? '' : ` (${outcome.kind})`;
  return `${paint.bold(title)} ${name(pid)} ${paintStatus(status)}${outcomeNote}`;
}
