import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Kernel, Pid } from '../../src/index.js';
import { checkAuthority } from './authority-invariants.js';
import { checkDelivery } from './delivery-invariants.js';
import { checkMemory, type MemoryFacts } from './memory-invariants.js';
import { RawTables } from './storage/raw-tables.js';

/**
 * Checks the invariants of the design on an open kernel and its database. Each check answers with the violations that it
 * found, as sentences; nothing here shares code with the kernel. The numbers are those of the quality page.
 */
export async function checkInvariants(kernel: Kernel, path: string, options: CheckOptions = {}): Promise<void> {
  const facts = await readFacts(path);
  const wrong = [
    ...checkAuthority(facts),
    ...checkAccounts(facts),
    ...(await checkOverruns(kernel, facts)),
    ...checkReservations(facts),
    ...checkTransitions(facts, options),
    ...checkEndedRows(facts),
    ...checkTree(facts),
    ...checkWaits(facts),
    ...(await checkEndedHoldNothing(kernel, facts)),
    ...checkEndedCommands(facts),
    ...checkDelivery(facts),
    ...checkMemory(facts),
    ...checkRecording(facts),
    ...checkEffects(facts),
    ...checkSequences(facts),
    ...(await checkAuditLog(kernel)),
    ...(options.edited ? [] : await checkRecordedStatuses(kernel, facts)),
  ];
  expect(wrong).toEqual([]);
}

export interface CheckOptions {
  /** The test has changed process rows itself, so that their statuses do not follow from the records. */
  readonly edited?: boolean;
}

/** The log tells of all capabilities that the tables have, with the same status; for the ten newest processes. */
async function checkRecordedStatuses(kernel: Kernel, { processes }: Facts): Promise<string[]> {
  const wrong: string[] = [];
  for (const { pid } of processes.slice(-10)) {
    const { capabilities } = await kernel.audit.lineage(pid);
    const told = new Map(capabilities.map(({ id, status, unrecorded }) => [id, unrecorded ? 'unrecorded' : status]));
    for (const { id, status } of await kernel.capabilities.list(pid, { status: 'any', limit: 1_000 }))
      if (told.get(id) !== status) wrong.push(`${id} of ${pid} is ${status}, and told as ${told.get(id)}`);
  }
  return wrong;
}

/** (24) The parts that acknowledged processes lack: row, account, goal, view, own capability, event or record. */
export async function findLost(path: string, pids: readonly Pid[]): Promise<string[]> {
  const facts = await readFacts(path);
  const rows = new Map(facts.processes.map((row) => [row.pid, row]));
  const objects = new Set(facts.objects.map(({ id }) => id));
  const accounts = new Set(facts.accounts.map(({ n }) => n));
  const views = new Set(facts.views.map(({ n }) => n));
  const holders = new Set(facts.capabilities.map(({ holder }) => holder));
  const born = new Set(facts.events.filter(({ type }) => spawnEvents.has(type)).map(({ pid }) => pid));
  const recorded = new Set(facts.records.map(({ body }) => body.target));
  return pids.flatMap((pid) => {
    const row = rows.get(pid);
    if (row === undefined) return [`${pid} is lost`];
    const parts = {
      account: accounts.has(row.n),
      goal: objects.has(row.goal),
      view: views.has(row.view),
      capability: holders.has(pid),
      event: born.has(pid),
      record: recorded.has(pid),
    };
    return Object.entries(parts).flatMap(([part, there]) => (there ? [] : [`${pid} has no ${part}`]));
  });
}

const chargedColumns = ['tool_calls', 'tokens', 'cost_micros', 'materialized_tokens', 'output_bytes'] as const;
type Column = (typeof chargedColumns)[number];
const columnOfDimension: Record<string, Column> = {
  toolCalls: 'tool_calls',
  tokens: 'tokens',
  costMicros: 'cost_micros',
  materializedTokens: 'materialized_tokens',
  outputBytes: 'output_bytes',
};

const terminal = new Set(['exited', 'failed', 'killed', 'abandoned']);
const spawnEvents = new Set(['process.spawned', 'process.forked']);
/** Events of refusals: their records name the process that was refused. */
const refusalEvents = new Set(['budget.exceeded', 'capability.denied']);
/** Events that may name an ended process: a wait for it, a limit or rule that still applies, a capability that it held. */
const eventsAfterEnd = new Set([
  ...refusalEvents,
  'process.waited',
  'tool.returned',
  'capability.revoked',
  'rule.set',
  'rule.lifted',
]);

/** (11) used(p) = own(p) + Σ used(c) over the processes c spawned under p; the same for reservations and child slots. */
function checkAccounts({ processes, accounts, reservations, events }: Facts): string[] {
  const bornUnder = new Map<string, string | null>();
  for (const { type, pid, data } of events) if (spawnEvents.has(type)) bornUnder.set(pid ?? '', parentOf(data));
  const used = new Map<string, Map<Column, number>>();
  const reserved = new Map<string, Map<Column, number>>();
  const add = (totals: typeof used, pid: string, usage: object) => {
    for (let at: string | null = pid; at !== null; at = bornUnder.get(at) ?? null) {
      const sums = totals.get(at) ?? new Map<Column, number>();
      totals.set(at, sums);
      for (const [dimension, amount] of Object.entries(usage)) {
        // Most of what is stored is charged without an event.
        if (dimension === 'storedBytes') continue;
        const name = columnOfDimension[dimension] ?? 'tokens';
        sums.set(name, (sums.get(name) ?? 0) + Number(amount));
      }
    }
  };
  for (const { type, pid, data } of events) {
    if (type === 'budget.charged' || type === 'budget.settled') add(used, pid ?? '', usageOf(data));
    if (type === 'tool.returned') add(used, pid ?? '', JSON.parse(data).used);
  }
  for (const { pid, usage } of reservations) add(reserved, pid, JSON.parse(usage));
  const livePlaces = new Map<number, number>();
  const born = new Map<string, number>();
  for (const row of processes) {
    if (row.born_under !== null) born.set(row.born_under, (born.get(row.born_under) ?? 0) + 1);
    if (terminal.has(row.status)) continue;
    for (const n of JSON.parse(row.path) as number[]) livePlaces.set(n, (livePlaces.get(n) ?? 0) + 1);
  }
  const byNumber = new Map(accounts.map((account) => [account.n, account]));
  const storedBelow = new Map<string, number>();
  for (const { n, born_under } of processes) {
    if (born_under === null) continue;
    storedBelow.set(born_under, (storedBelow.get(born_under) ?? 0) + Number(byNumber.get(n)?.stored_bytes_used ?? 0));
  }
  return processes.flatMap(({ n, pid }) => {
    const account = byNumber.get(n);
    if (account === undefined) return [`(11) ${pid} has no account`];
    const expected: Record<string, number> = {
      children_used: livePlaces.get(n) ?? 0,
      born: born.get(pid) ?? 0,
    };
    for (const name of chargedColumns) {
      expected[`${name}_used`] = used.get(pid)?.get(name) ?? 0;
      expected[`${name}_reserved`] = reserved.get(pid)?.get(name) ?? 0;
    }
    const below = storedBelow.get(pid) ?? 0;
    const stored = Number(account.stored_bytes_used);
    return [
      ...(stored >= below ? [] : [`(11) ${pid}: ${stored} bytes are stored, and ${below} by its children`]),
      ...Object.entries(expected).flatMap(([name, value]) =>
        account[name] === value ? [] : [`(11) ${pid}: ${name} is ${account[name]}, not ${value}`],
      ),
    ];
  });
}

const overrunningEvents = new Set(['budget.settled', 'budget.limited', 'tool.returned']);

/** (11) used + reserved ≤ limit, unless a settlement or a lowered limit has passed it: then the overrun is shown. */
async function checkOverruns(kernel: Kernel, { processes, events }: Facts): Promise<string[]> {
  const mayOverrun = events.some(({ type }) => overrunningEvents.has(type));
  const wrong: string[] = [];
  for (const { pid } of processes.slice(0, 200)) {
    const report = await kernel.processes.budget(pid);
    for (const dimension of ['toolCalls', 'tokens', 'costMicros', 'materializedTokens', 'outputBytes'] as const) {
      const { limit, used, reserved, overrun } = report[dimension];
      const beyond = limit === null ? 0 : Math.max(0, used + reserved - limit);
      if (overrun !== beyond) wrong.push(`(11) ${pid}: ${dimension} shows an overrun of ${overrun}, not ${beyond}`);
      if (beyond > 0 && !mayOverrun) wrong.push(`(11) ${pid}: ${dimension} is ${beyond} over its limit`);
    }
  }
  return wrong;
}

/**
 * (22) Every effect has one intent, and one outcome or has not ended: a call has a row, a command a live process. The outcome
 * names the record of the intent as its cause.
 */
function checkEffects({ records, effects, processes }: Facts): string[] {
  const commands = processes.filter(({ kind, status }) => kind === 'command' && !terminal.has(status));
  const underway = new Set([...effects.map(({ id }) => id), ...commands.map(({ pid }) => pid)]);
  const told = new Map<string, { intents: number; outcomes: number }>();
  const intentIds = new Map<string, string>();
  const wrong: string[] = [];
  for (const { body } of records) {
    if (body.effectId === undefined) continue;
    const counts = told.get(body.effectId) ?? { intents: 0, outcomes: Number(underway.has(body.effectId)) };
    counts[body.outcome === 'intent' ? 'intents' : 'outcomes']++;
    told.set(body.effectId, counts);
    if (body.outcome === 'intent') intentIds.set(body.effectId, body.id);
    else if (body.cause !== intentIds.get(body.effectId))
      wrong.push(`(22) the outcome of effect ${body.effectId} has the cause ${body.cause}`);
  }
  for (const [effect, { intents, outcomes }] of told)
    if (intents !== 1 || outcomes !== 1)
      wrong.push(`(22) effect ${effect} has ${intents} intents and ${outcomes} outcomes`);
  return wrong;
}

/** (12) */
function checkReservations({ processes, reservations }: Facts): string[] {
  const live = new Set(processes.filter(({ status }) => !terminal.has(status)).map(({ pid }) => pid));
  return reservations.flatMap(({ id, pid }) => (live.has(pid) ? [] : [`(12) ${id} belongs to ${pid}, which ended`]));
}

const allowedSteps: Record<string, readonly string[]> = {
  created: ['running', 'paused', 'runnable', 'stopping', 'exited', 'failed', 'killed', 'abandoned', 'created'],
  runnable: ['running', 'paused', 'runnable', 'created', 'stopping', 'exited', 'failed', 'killed', 'abandoned'],
  running: [
    'waiting',
    'paused',
    'runnable',
    'created',
    'stopping',
    'exited',
    'failed',
    'killed',
    'abandoned',
    'running',
  ],
  waiting: [
    'running',
    'runnable',
    'created',
    'waiting',
    'paused',
    'stopping',
    'exited',
    'failed',
    'killed',
    'abandoned',
  ],
  paused: [
    'created',
    'runnable',
    'running',
    'waiting',
    'paused',
    'stopping',
    'exited',
    'failed',
    'killed',
    'abandoned',
  ],
  stopping: ['stopping', 'exited', 'failed', 'killed', 'abandoned'],
};

/** (13) Each recorded transition is in the table, begins where the one before ended, and the last one gave the current status. */
function checkTransitions({ processes, records }: Facts, { edited = false }: CheckOptions): string[] {
  const last = new Map<string, string>();
  const wrong: string[] = [];
  for (const { seq, body } of records) {
    const { target, before, after, outcome } = body;
    if (outcome !== 'ok' || target === undefined || after === undefined) continue;
    const from = last.get(target);
    last.set(target, after);
    if (before === undefined) continue;
    if (!(allowedSteps[before] ?? []).includes(after)) wrong.push(`(13) record ${seq}: ${before} → ${after}`);
    if (!edited && from !== before) wrong.push(`(13) record ${seq}: ${target} was ${from}, not ${before}`);
  }
  if (edited) return wrong;
  for (const { pid, status } of processes) {
    if (last.get(pid) !== status) wrong.push(`(13) ${pid} is ${status}; the record says ${last.get(pid)}`);
  }
  return wrong;
}

/** (13) Nothing happens to a process after its end. */
function checkEndedRows({ processes, events }: Facts): string[] {
  const ended = new Map<string, number>();
  const wrong: string[] = [];
  for (const { seq, type, pid, at } of events) {
    if (pid === null) continue;
    if (ended.has(pid) && !eventsAfterEnd.has(type)) wrong.push(`(13) event ${seq} ${type} of ${pid} after its end`);
    if (type === 'process.exited') ended.set(pid, at);
  }
  for (const { pid, status, exited_at, updated_at, outcome } of processes) {
    if (terminal.has(status) !== (exited_at !== null)) wrong.push(`(13) ${pid} is ${status}, exited at ${exited_at}`);
    if (!terminal.has(status)) continue;
    if (ended.get(pid) !== exited_at || updated_at !== exited_at) wrong.push(`(13) ${pid} changed after its end`);
    if (outcome === null) wrong.push(`(13) ${pid} ended without an outcome`);
  }
  return wrong;
}

/** (14) */
function checkTree({ processes }: Facts): string[] {
  const rows = new Map(processes.map((row) => [row.pid, row]));
  return processes.flatMap((row) => {
    const wrong: string[] = [];
    const seen = new Set<string>();
    for (let at: ProcessFact | undefined = row; at !== undefined; at = rows.get(at.parent ?? '')) {
      if (seen.has(at.pid)) return [`(14) ${row.pid} stands above itself`];
      seen.add(at.pid);
    }
    if ((JSON.parse(row.path) as number[]).length !== row.depth) wrong.push(`(14) ${row.pid} is at another depth`);
    if (terminal.has(row.status) || row.status === 'stopping') return wrong;
    if ((row.parent === null) !== (row.root === row.pid)) wrong.push(`(14) ${row.pid} has root ${row.root}`);
    if (row.parent === null) return wrong;
    const parent = rows.get(row.parent);
    if (parent === undefined || terminal.has(parent.status)) wrong.push(`(14) ${row.pid} has no live parent`);
    if (parent !== undefined && parent.root !== row.root) wrong.push(`(14) ${row.pid} and its parent differ in root`);
    return wrong;
  });
}

/** (15) */
function checkWaits({ processes }: Facts): string[] {
  const edges = new Map<string, string>();
  for (const { pid, status, wait } of processes) {
    const facet = wait === null ? undefined : (JSON.parse(wait) as { kind: string; what: string; deadline?: number });
    const isEdge = facet?.kind === 'child' || facet?.kind === 'message';
    if (status === 'waiting' && isEdge && facet.deadline === undefined) edges.set(pid, facet.what);
  }
  return [...edges.keys()].flatMap((start) => {
    const seen = new Set<string>();
    for (let at: string | undefined = start; at !== undefined; at = edges.get(at)) {
      if (seen.has(at)) return [`(15) ${start} waits for itself`];
      seen.add(at);
    }
    return [];
  });
}

/** (16) */
async function checkEndedHoldNothing(kernel: Kernel, { processes }: Facts): Promise<string[]> {
  const wrong: string[] = [];
  const ended = processes.filter(({ status }) => terminal.has(status));
  for (const { pid, node, alarm_at } of ended) {
    if (node !== null) wrong.push(`(16) ${pid} has ended on node ${node}`);
    if (alarm_at !== null) wrong.push(`(16) ${pid} has ended and an alarm at ${alarm_at}`);
  }
  for (const { pid } of ended.slice(0, 50)) {
    const live = await kernel.capabilities.list(pid);
    if (live.length > 0) wrong.push(`(16) ${pid} has ended and holds ${live.map(({ id }) => id).join(', ')}`);
  }
  return wrong;
}

/** (16) No OS process has the token of a command that has ended, unless the command may survive. */
function checkEndedCommands({ processes, commands }: Facts): string[] {
  const ended = new Map(processes.filter(({ status }) => terminal.has(status)).map(({ n, pid }) => [n, pid]));
  const over = commands.filter(({ process, survive }) => ended.has(process) && survive === 0);
  if (over.length === 0 || !existsSync('/proc/self/environ')) return [];
  return readdirSync('/proc').flatMap((name) => {
    const environment = /^\d+$/.test(name) ? environmentOf(name) : '';
    return over
      .filter(({ token }) => environment.includes(token))
      .map(({ process }) => `(16) ${ended.get(process)} has ended, and program ${name} is of it`);
  });
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    // It has ended meanwhile, or belongs to another user.
    return '';
  }
}

/** (20) Every event about a process has a record, every process a spawn event, every end one event and one record. */
function checkRecording({ processes, events, records }: Facts): string[] {
  const named = ({ target, approval, capability, facts }: RecordBody) => {
    return [target, approval, capability, facts?.reachedBy, ...(facts?.approvals ?? []), ...(facts?.alsoBy ?? [])];
  };
  const told = new Set(records.flatMap(({ body }) => named(body).map((id) => `${id}@${body.at}`)));
  const ends = new Map<string, number>();
  const born = new Set<string>();
  const wrong: string[] = [];
  for (const { seq, type, pid, at, data } of events) {
    if (pid === null) continue;
    if (spawnEvents.has(type)) born.add(pid);
    if (type === 'process.exited') ends.set(pid, (ends.get(pid) ?? 0) + 1);
    const about = usedIdOf(type, data) ?? pid;
    if (!refusalEvents.has(type) && !told.has(`${about}@${at}`)) wrong.push(`(20) event ${seq} ${type} has no record`);
  }
  for (const { pid, status } of processes) {
    if (!born.has(pid)) wrong.push(`(20) ${pid} has no spawn event`);
    if ((ends.get(pid) ?? 0) !== (terminal.has(status) ? 1 : 0)) wrong.push(`(20) ${pid} ended ${ends.get(pid)} times`);
  }
  return wrong;
}

const eventsNamedByUse = new Set(['approval.used', 'capability.used', 'capability.revoked']);

/** The approval or capability that an event is about, by which its record names it. */
function usedIdOf(type: string, data: string): string | undefined {
  if (!eventsNamedByUse.has(type)) return undefined;
  const { approval, capability } = JSON.parse(data) as { approval?: string; capability?: string };
  return approval ?? capability;
}

/** (21) */
function checkSequences({ events, records }: Facts): string[] {
  const gap = (name: string, seqs: readonly number[]) => {
    const at = seqs.findIndex((seq, index) => seq !== index + 1);
    return at < 0 ? [] : [`(21) ${name} ${at + 1} is missing`];
  };
  return [
    ...gap(
      'event',
      events.map(({ seq }) => seq),
    ),
    ...gap(
      'record',
      records.map(({ seq }) => seq),
    ),
  ];
}

/** (21) The chain links, and the recomputed root is the stored one. */
async function checkAuditLog(kernel: Kernel): Promise<string[]> {
  const { ok, firstBad } = await kernel.audit.verify();
  return ok ? [] : [`(21) record ${firstBad?.seq} is ${firstBad?.kind}`];
}

interface ProcessFact {
  n: number;
  pid: string;
  parent: string | null;
  born_under: string | null;
  path: string;
  root: string;
  depth: number;
  kind: string;
  status: string;
  goal: string;
  view: number;
  node: string | null;
  wait: string | null;
  outcome: string | null;
  result: string | null;
  updated_at: number;
  exited_at: number | null;
  alarm_at: number | null;
}

interface CapabilityFact {
  id: string;
  holder: string;
  parent: string | null;
  depth: number;
  max_depth: number;
  rights: number;
  grantable: number;
  expires_at: number | null;
}

interface RecordBody {
  id: string;
  at: number;
  action: string;
  target?: string;
  before?: string;
  after?: string;
  outcome: string;
  capability?: string;
  decision?: string;
  approval?: string;
  effectId?: string;
  cause?: string;
  facts?: { approvals?: string[]; reachedBy?: string; alsoBy?: string[] };
}

export type Facts = Awaited<ReturnType<typeof readFacts>>;

/** All tables, as one committed state. */
async function readFacts(store: string) {
  await using tables = new RawTables(store);
  return await tables.snapshot(async () => ({
    processes: await tables.rows<ProcessFact>('processes', 'n'),
    accounts: await tables.rows<Record<string, number>>('accounts'),
    reservations: await tables.rows<{ id: string; pid: string; usage: string }>('reservations'),
    effects: await tables.rows<{ id: string }>('effects'),
    capabilities: await tables.rows<CapabilityFact>('capabilities'),
    commands: await tables.rows<{ process: number; token: string; survive: number }>('commands'),
    approvals: await tables.rows<{ id: string; decision: string | null; spent_at: number | null }>('approvals'),
    objects: await tables.rows<MemoryFacts['objects'][number]>('objects'),
    versions: await tables.rows<MemoryFacts['versions'][number]>('object_versions', 'n'),
    overlays: await tables.rows<MemoryFacts['overlays'][number]>('overlays'),
    payloads: await tables.rows<MemoryFacts['payloads'][number]>('payloads'),
    views: await tables.rows<MemoryFacts['views'][number]>('views'),
    entries: await tables.rows<MemoryFacts['entries'][number]>('view_entries'),
    links: await tables.rows<MemoryFacts['links'][number]>('links'),
    messages: await tables.rows<{ id: string; to_pid: string; from_pid: string }>('messages', 'n'),
    signals: await tables.rows<{ pid: string; name: string; ordinal: number; taken: number }>(
      'user_signals',
      'pid, name, ordinal',
    ),
    events: await tables.rows<{ seq: number; type: string; at: number; pid: string | null; data: string }>(
      'events',
      'seq',
    ),
    records: (await tables.rows<{ seq: number; body: string }>('audit_records', 'seq')).map(({ seq, body }) => ({
      seq,
      body: JSON.parse(body) as RecordBody,
    })),
  }));
}

function parentOf(data: string): string | null {
  return (JSON.parse(data) as { parent: string | null }).parent;
}

function usageOf(data: string): object {
  return (JSON.parse(data) as { usage: object }).usage;
}
