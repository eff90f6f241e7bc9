import type { Page, ProcessFilter, ProcessRecord } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paintStatus, writeJson, writeLine } from '../../output.js';
import { fullName, shortNames } from '../../pids.js';
import { safeText } from '../../safe-text.js';
import { drawTable } from '../../table.js';
import { formatAge } from '../../times.js';

interface PsOptions extends CommonOptions {
  readonly full?: boolean;
  readonly live?: boolean;
  readonly status?: NonNullable<ProcessFilter['status']>;
  readonly label: Readonly<Record<string, string>>;
  readonly limit: number;
}

const pageRows = 10_000;
const headings = ['PID', 'STATUS', 'KIND', 'IMAGE', 'NAME', 'PARENT', 'AGE'];

/** Lists the newest processes in the order of their creation; commands are shown by their command line. */
export async function ps(options: PsOptions): Promise<void> {
  const { items, more } = await withReadOnlyStore(options, async ({ processes }) => {
    const items: ProcessRecord[] = [];
    let after: string | undefined;
    do {
      const page: Page<ProcessRecord> = await processes.list(filterOf(options, options.limit - items.length, after));
      items.push(...page.items);
      after = page.next;
    } while (after !== undefined && items.length < options.limit);
    return { items: items.reverse(), more: after !== undefined };
  });
  if (options.json === true) return writeJson(items);
  const name = options.full === true ? fullName : shortNames(items.map(({ pid }) => pid));
  await writeLine(
    drawTable(
      headings,
      items.map((item) => row(item, name)),
    ),
  );
  if (more) process.stderr.write(`There may be more: these are the newest ${items.length}. See --limit.\n`);
}

function filterOf({ live, status, label }: PsOptions, left: number, after: string | undefined): ProcessFilter {
  return {
    limit: Math.max(1, Math.min(left, pageRows)),
    labels: label,
    order: 'newest',
    ...(live === true ? { live } : {}),
    ...(status === undefined ? {} : { status }),
    ...(after === undefined ? {} : { after }),
  };
}

function row(record: ProcessRecord, name: (pid: string) => string): string[] {
  const { pid, kind, image, parent, createdAt } = record;
  return [
    name(pid),
    statusText(record),
    kind,
    safeText(image, 40),
    safeText(record.command?.line ?? record.name ?? '', 40),
    parent === null ? '-' : name(parent),
    formatAge(createdAt),
  ];
}

/** The status, and what a process lacks that no node runs until it is there. */
function statusText({ status, wait }: ProcessRecord): string {
  const isForNode = wait?.kind === 'code' || wait?.kind === 'image' || wait?.kind === 'tools';
  return isForNode ? `${paintStatus(status)} (${wait.kind})` : paintStatus(status);
}
