import type { Approval, ApprovalFilter } from '../../../index.js';
import { approvalRights, approvalTerms } from '../../authority-text.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { findPid, fullName, shortNames } from '../../pids.js';
import { safeJson, safeText } from '../../safe-text.js';
import { drawTable } from '../../table.js';
import { formatAge } from '../../times.js';

interface ApprovalsOptions extends CommonOptions {
  readonly full?: boolean;
  readonly status: NonNullable<ApprovalFilter['status']>;
  readonly pid?: string;
}

type Name = (id: string) => string;

const ancestorsMax = 3;
const headings = ['ID', 'STATUS', 'PROCESS', 'UNDER', 'RIGHT', 'RESOURCE', 'ARGUMENTS', 'CAPABILITY', 'AGE'];

/** Lists approvals by status, oldest first. */
export async function approvals(options: ApprovalsOptions): Promise<void> {
  const items = await withReadOnlyStore(options, async (kernel) => {
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
    statusText(approval),
    pidName(pid),
    ancestorsText(lineage, pidName),
    approvalRights(approval),
    safeText(resource, 60),
    safeText(safeJson(approvalTerms(approval)), 50),
    capability === null ? '-' : safeText(capability, 60),
    formatAge(createdAt),
  ];
}

/** `pending`, `void`, or the answer and who gave it. */
export function statusText({ status, decision, scope, by }: Approval): string {
  if (decision === undefined) return status === 'pending' ? paint.yellow(status) : paint.dim(status);
  const answer = `${decision}${scope === undefined ? '' : ` (${scope})`}`;
  const painted = decision.startsWith('deny') ? paint.red(answer) : paint.green(answer);
  return by === undefined ? painted : `${painted} by ${safeText(by, 30)}`;
}

function ancestorsText(lineage: readonly string[], name: Name): string {
  if (lineage.length === 0) return '-';
  const more = lineage.length - ancestorsMax;
  return [...lineage.slice(0, ancestorsMax).map(name), ...(more > 0 ? [`${more} more`] : [])].join(' < ');
}
