import type { Approval, ApprovalFilter } from '../../../index.js';
import { wantedRights, wantedTerms } from '../../authority-text.js';
import { type CommonOptions, reading } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { findPid, fullName, shortNames } from '../../pids.js';
import { safeJson, safeText } from '../../safe-text.js';
import { drawTable } from '../../table.js';
import { showAge } from '../../times.js';

interface ApprovalsOptions extends CommonOptions {
  readonly full?: boolean;
  readonly status: NonNullable<ApprovalFilter['status']>;
  readonly pid?: string;
}

type Name = (id: string) => string;

const aboveMax = 3;
const headings = ['ID', 'STATUS', 'PROCESS', 'UNDER', 'RIGHT', 'RESOURCE', 'ARGUMENTS', 'CAPABILITY', 'AGE'];

/** Lists what waits for the answer of a person, or has got it, oldest first. */
export async function approvals(options: ApprovalsOptions): Promise<void> {
  const items = await reading(options, async (kernel) => {
    const { status, pid } = options;
    return kernel.approvals.list({ status, ...(pid === undefined ? {} : { pid: await findPid(kernel, pid) }) });
  });
  if (options.json === true) return writeJson(items);
  const isFull = options.full === true;
  const idName = isFull ? fullName : shortNames(items.map(({ id }) => id));
  const pidName = isFull ? fullName : shortNames(items.flatMap(({ pid, lineage }) => [pid, ...lineage]));
  const rows = items.map((item) => row(item, idName, pidName));
  await writeLine(drawTable(headings, rows));
}

function row(approval: Approval, idName: Name, pidName: Name): string[] {
  const { id, pid, lineage, resource, capability, createdAt } = approval;
  return [
    idName(id),
    shownStatus(approval),
    pidName(pid),
    above(lineage, pidName),
    wantedRights(approval),
    safeText(resource, 60),
    safeText(safeJson(wantedTerms(approval)), 50),
    capability === null ? '-' : safeText(capability, 60),
    showAge(createdAt),
  ];
}

/** How it stands: that it waits, that it is void, or the answer. */
export function shownStatus({ status, decision, scope, by }: Approval): string {
  if (decision === undefined) return status === 'pending' ? paint.yellow(status) : paint.dim(status);
  const answer = `${decision}${scope === undefined ? '' : ` (${scope})`}`;
  const painted = decision.startsWith('deny') ? paint.red(answer) : paint.green(answer);
  return by === undefined ? painted : `${painted} by ${safeText(by, 30)}`;
}

function above(lineage: readonly string[], name: Name): string {
  if (lineage.length === 0) return '-';
  const more = lineage.length - aboveMax;
  return [...lineage.slice(0, aboveMax).map(name), ...(more > 0 ? [`${more} more`] : [])].join(' < ');
}
