import type { BudgetReport, Capability, JsonValue, Kernel, ProcessRecord } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, paintStatus, writeJson, writeLine } from '../../output.js';
import { findPid } from '../../pids.js';
import { safeJson, safeText } from '../../safe-text.js';
import { drawTable } from '../../table.js';
import { formatTime } from '../../times.js';

/** Shows one process: its record, what it was asked and what came of it, its budget and capabilities. */
export async function show(pidOrSuffix: string, options: CommonOptions): Promise<void> {
  const details = await withReadOnlyStore(options, async (kernel) => {
    const pid = await findPid(kernel, pidOrSuffix);
    const process = await kernel.processes.get(pid);
    return {
      process,
      goal: (await kernel.processes.goal(pid)).payload,
      ...(await findResult(kernel, process)),
      budget: await kernel.processes.budget(pid),
      capabilities: await kernel.capabilities.list(pid, { status: 'any' }),
    };
  });
  if (options.json === true) return writeJson(details);
  const { process, budget, capabilities } = details;
  for (const [field, value] of fields(process, details)) await writeLine(`${paint.dim(field.padEnd(14))}${value}`);
  await writeLine(`\n${paint.bold('Budget')}`);
  await writeLine(drawTable(['DIMENSION', 'LIMIT', 'USED', 'RESERVED', 'LEFT', 'BOUND BY'], budgetRows(budget)));
  await writeLine(`\n${paint.bold('Capabilities')}`);
  await writeLine(drawTable(['ID', 'RESOURCE', 'RIGHTS', 'STATUS', 'GRANTED BY'], capabilities.map(capabilityRow)));
}

/** The payloads that are shown beside a record. */
interface Payloads {
  readonly goal: JsonValue;
  readonly result?: JsonValue;
}

async function findResult({ memory }: Kernel, { result }: ProcessRecord): Promise<Pick<Payloads, 'result'>> {
  return result === undefined ? {} : { result: (await memory.inspect(result)).payload };
}

function fields(process: ProcessRecord, { goal, result }: Payloads): [string, string][] {
  const { name, outcome, message, wait, progress, labels, owner, startedAt, exitedAt, deadlineAt, command } = process;
  const line = (field: string, value: string | undefined): [string, string][] =>
    value === undefined ? [] : [[field, value]];
  const time = (at: number | undefined) => (at === undefined ? undefined : formatTime(at));
  const json = (value: object | undefined) =>
    value === undefined || Object.keys(value).length === 0 ? undefined : safeText(safeJson(value), 500);
  return [
    ['pid', safeText(process.pid, 512)],
    ...line('name', name === undefined ? undefined : safeText(name, 256)),
    ['status', paintStatus(process.status)],
    ...line('outcome', json(outcome)),
    ...line('message', message === undefined ? undefined : safeText(message, 500)),
    ['kind', process.kind],
    ...line('command', command === undefined ? undefined : safeText(command.line, 500)),
    ...line('OS pid', command?.osPid === undefined ? undefined : String(command.osPid)),
    ...line('output', command?.outputFile === undefined ? undefined : safeText(command.outputFile, 500)),
    ['image', safeText(process.image)],
    ['goal', payload(goal)],
    ['arguments', payload(process.args)],
    ...line('result', result === undefined ? undefined : payload(result)),
    ...line('env', process.env === undefined ? undefined : safeText(process.env.join(' '), 500)),
    ['parent', process.parent === null ? '-' : safeText(process.parent, 512)],
    ['spawned under', process.bornUnder === null ? '-' : safeText(process.bornUnder, 512)],
    ['root', safeText(process.root, 512)],
    ['generation', String(process.generation)],
    ['cwd', safeText(process.cwd, 500)],
    ...line('labels', json(labels)),
    ...line('owner', json(owner)),
    ...line('waits for', wait?.kind === 'code' ? codeText(wait) : json(wait)),
    ...line('failed builds', wait?.builds?.map((build) => safeText(build, 80)).join(', ')),
    ...line('progress', json(progress)),
    ['created', formatTime(process.createdAt)],
    ...line('started', time(startedAt)),
    ...line('ended', time(exitedAt)),
    ...line('deadline', time(deadlineAt)),
  ];
}

/** Texts as they are, everything else as JSON. */
function payload(value: JsonValue): string {
  const { text = value } = (value ?? {}) as { text?: JsonValue };
  const isText = typeof value === 'object' && value !== null && Object.keys(value).length === 1;
  const shown = isText ? text : value;
  return safeText(typeof shown === 'string' ? shown : safeJson(shown), 1_000);
}

/** What a process lacks whose journal cannot be replayed. */
function codeText({ what, recorded = '', asked = '' }: NonNullable<ProcessRecord['wait']>): string {
  const quoted = (call: string) => JSON.stringify(safeText(call, 200));
  return `code of ${safeText(what)}: ${quoted(recorded)} is recorded, ${quoted(asked)} was asked`;
}

function budgetRows(budget: BudgetReport): string[][] {
  return Object.entries(budget).map(([dimension, { limit, used, reserved, left, overrun, boundBy }]) => [
    dimension,
    limit === null ? '-' : String(limit),
    overrun > 0 ? `${used} (${overrun} over)` : String(used),
    String(reserved),
    left === null ? '-' : String(left),
    boundBy === null ? '-' : safeText(boundBy, 60),
  ]);
}

function capabilityRow({ id, resource, rights, status, grantedBy }: Capability): string[] {
  return [
    safeText(id, 60),
    safeText(resource, 80),
    rights.join(','),
    status === 'live' ? paint.green(status) : paint.red(status),
    safeText(grantedBy, 60),
  ];
}
