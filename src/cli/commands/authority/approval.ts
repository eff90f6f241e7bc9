import type { Approval, Capability, Kernel, Pid, ProcessRecord } from '../../../index.js';
import { chainLine, rulesNamed, wanted, wantedTerms } from '../../authority-text.js';
import { findApproval } from '../../ids.js';
import { jsonLines } from '../../json-lines.js';
import { type CommonOptions, reading } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { safeJson, safeText } from '../../safe-text.js';
import { showTime } from '../../times.js';
import { shownStatus } from './approvals.js';

const aboveMax = 20;
/** As long as a resource can be: nobody approves half of a name. */
const resourceMax = 4_096;

interface Shown {
  readonly approval: Approval;
  /** Who asks and those above it, in words. */
  readonly processes: readonly string[];
  readonly rules: readonly string[];
  readonly chain: readonly Capability[];
}

/** Shows one question whole: who asks, for what, by which authority, and how it can be answered. */
export async function approval(given: string, options: CommonOptions): Promise<void> {
  const shown = await reading(options, async (kernel) => lookAt(kernel, await findApproval(kernel, given)));
  if (options.json === true) return writeJson({ approval: shown.approval, chain: shown.chain });
  for (const [field, value] of fields(shown)) await writeLine(`${paint.dim(field.padEnd(14))}${value}`);
  const { lines, cutFrom } = jsonLines(wantedTerms(shown.approval));
  await writeLine(`\n${paint.bold(shown.approval.request === undefined ? 'Arguments' : 'Terms')}`);
  // Said before them: who decides must know that there is more.
  if (cutFrom !== undefined)
    await writeLine(paint.yellow(`CUT: they are ${cutFrom} characters; --json prints them whole.`));
  for (const line of lines) await writeLine(line);
  await writeLine(`\n${paint.bold('Capability')}`);
  for (const line of authority(shown)) await writeLine(line);
}

async function lookAt(kernel: Kernel, approval: Approval): Promise<Shown> {
  const { pid, lineage, capability } = approval;
  const hasChain = capability !== null && capability !== 'kin';
  const processes: string[] = [];
  for (const one of [pid, ...lineage.slice(0, aboveMax)]) processes.push(await described(kernel, one));
  if (lineage.length > aboveMax) processes.push(`${lineage.length - aboveMax} more`);
  return {
    approval,
    processes,
    rules: await rulesNamed(kernel, approval.rules),
    chain: hasChain ? await kernel.capabilities.chain(capability) : [],
  };
}

/** A process in words; one that was pruned is known by its pid alone. */
async function described({ processes }: Kernel, pid: Pid): Promise<string> {
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

function fields({ approval, processes, rules }: Shown): [string, string][] {
  const { id, status, createdAt, expiresAt, answeredAt } = approval;
  const lines = (field: string, values: readonly string[]) => values.map((value): [string, string] => [field, value]);
  const time = (field: string, at: number | undefined) => lines(field, at === undefined ? [] : [showTime(at)]);
  return [
    ...lines('id', [safeText(id, 512)]),
    ...lines('status', [shownStatus(approval)]),
    ...lines('process', processes.slice(0, 1)),
    ...lines('under', processes.slice(1)),
    ...lines('wants to', [wanted(approval, resourceMax)]),
    ...lines('because of', rules),
    ...time('asked', createdAt),
    ...time('expires', expiresAt),
    ...time('answered', answeredAt),
    ...lines('answer', status === 'pending' ? [answerCommand(approval)] : []),
  ];
}

function answerCommand({ id, scopes }: Approval): string {
  const lasting = scopes.length === 0 ? '' : ` [--scope ${scopes.join('|')}]`;
  return `procura answer ${safeText(id, 512)} once|always|deny|deny-always${lasting}`;
}

function authority({ approval: { capability, request }, chain }: Shown): readonly string[] {
  if (capability === 'kin') return ['kin: it is a child or the parent, so none is needed'];
  if (request !== undefined) return ['none: it would get a new one'];
  if (capability === null) return ['none is needed but the answer'];
  return chain.flatMap((link) => [chainLine(link), ...constraintLines(link)]);
}

/** `always` reaches as far as the capability does, so who answers has to see how far that is. */
function constraintLines({ constraints }: Capability): string[] {
  return constraints === undefined ? [] : [paint.dim(`  only with ${safeText(safeJson(constraints), 500)}`)];
}
