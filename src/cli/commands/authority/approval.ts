import type { Approval, Capability, Kernel, Pid, ProcessRecord } from '../../../index.js';
import { approvalTerms, approvalText, chainLine, describeRules } from '../../authority-text.js';
import { findApproval } from '../../ids.js';
import { jsonLines } from '../../json-lines.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { safeJson, safeText } from '../../safe-text.js';
import { formatTime } from '../../times.js';
import { statusText } from './approvals.js';

const ancestorsMax = 20;
/** The longest resource there can be: who approves must see all of it. */
const resourceMax = 4_096;

interface ApprovalDetails {
  readonly approval: Approval;
  /** The asking process and its ancestors, in words. */
  readonly processes: readonly string[];
  readonly rules: readonly string[];
  readonly chain: readonly Capability[];
}

/** Shows one approval in full: the process, the request, its authority, and how to answer. */
export async function approval(idOrSuffix: string, options: CommonOptions): Promise<void> {
  const details = await withReadOnlyStore(options, async (kernel) =>
    loadDetails(kernel, await findApproval(kernel, idOrSuffix)),
  );
  if (options.json === true) return writeJson({ approval: details.approval, chain: details.chain });
  for (const [field, value] of fields(details)) await writeLine(`${paint.dim(field.padEnd(14))}${value}`);
  const { lines, fullLength: cutFrom } = jsonLines(approvalTerms(details.approval));
  await writeLine(`\n${paint.bold(details.approval.request === undefined ? 'Arguments' : 'Terms')}`);
  // Printed before the lines, so that who decides does not miss it.
  if (cutFrom !== undefined)
    await writeLine(paint.yellow(`CUT: they are ${cutFrom} characters; --json prints them whole.`));
  for (const line of lines) await writeLine(line);
  await writeLine(`\n${paint.bold('Capability')}`);
  for (const line of authorityLines(details)) await writeLine(line);
}

async function loadDetails(kernel: Kernel, approval: Approval): Promise<ApprovalDetails> {
  const { pid, lineage, capability } = approval;
  const hasChain = capability !== null && capability !== 'kin';
  const processes: string[] = [];
  for (const ancestor of [pid, ...lineage.slice(0, ancestorsMax)])
    processes.push(await describeProcess(kernel, ancestor));
  if (lineage.length > ancestorsMax) processes.push(`${lineage.length - ancestorsMax} more`);
  return {
    approval,
    processes,
    rules: await describeRules(kernel, approval.rules),
    chain: hasChain ? await kernel.capabilities.chain(capability) : [],
  };
}

/** A process in words; for a pruned one only its pid is known. */
async function describeProcess({ processes }: Kernel, pid: Pid): Promise<string> {
  let record: ProcessRecord;
  try {
    record = await processes.get(pid);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'NO_SUCH_PROCESS') return safeText(pid, 512);
    throw error;
  }
  const { name, image, status } = record;
  return `${safeText(pid, 512)} ${safeText(name ?? image, 60)} ${status}`;
}

function fields({ approval, processes, rules }: ApprovalDetails): [string, string][] {
  const { id, status, createdAt, expiresAt, answeredAt } = approval;
  const lines = (field: string, values: readonly string[]) => values.map((value): [string, string] => [field, value]);
  const time = (field: string, at: number | undefined) => lines(field, at === undefined ? [] : [formatTime(at)]);
  return [
    ...lines('id', [safeText(id, 512)]),
    ...lines('status', [statusText(approval)]),
    ...lines('process', processes.slice(0, 1)),
    ...lines('under', processes.slice(1)),
    ...lines('wants to', [approvalText(approval, resourceMax)]),
    ...lines('because of', rules),
    ...time('asked', createdAt),
    ...time('expires', expiresAt),
    ...time('answered', answeredAt),
    ...lines('run with', approval.edited === undefined ? [] : [safeText(safeJson(approval.edited.args), resourceMax)]),
    ...lines('answer', status === 'pending' ? [answerCommand(approval)] : []),
  ];
}

function answerCommand({ id, scopes, editable }: Approval): string {
  const edited = editable === true ? ' [--args JSON]' : '';
  const lasting = scopes.length === 0 ? '' : ` [--scope ${scopes.join('|')}]`;
  return `procura answer ${safeText(id, 512)} once|always|deny|deny-always${lasting}${edited}`;
}

function authorityLines({ approval: { capability, request }, chain }: ApprovalDetails): readonly string[] {
  if (capability === 'kin') return ['kin: it is a child or the parent, so none is needed'];
  if (request !== undefined) return ['none: it would get a new one'];
  if (capability === null) return ['none is needed but the answer'];
  return chain.flatMap((link) => [chainLine(link), ...constraintLines(link)]);
}

/** The constraints limit what `always` allows, so they are shown to who answers. */
function constraintLines({ constraints }: Capability): string[] {
  return constraints === undefined ? [] : [paint.dim(`  only with ${safeText(safeJson(constraints), 500)}`)];
}
