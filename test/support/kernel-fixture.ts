import { expect } from 'vitest';
import { defineImage, type Kernel, type KernelOptions, type Pid } from '../../src/index.js';
import { newStoreWithTables, openKernel, refusal } from './kernel.js';
import { openRawTables, type RawRow, type RawTables } from './storage/raw-tables.js';

/** An image with a body; on a kernel that runs no bodies its processes stay `runnable`. */
export const worker = defineImage({ name: 'worker', run: async () => null });

export interface KernelFixture {
  readonly kernel: Kernel;
  readonly path: string;
  /** The refusal of `call`, which must have changed nothing but the records of the refusal itself. */
  refused(call: () => Promise<unknown>): Promise<{ code: string; facts: unknown }>;
  /** Changes columns of a process row, as another node could. */
  edit(pid: Pid, columns: RawRow): Promise<void>;
  /** The columns of a process row. */
  row(pid: Pid): Promise<Record<string, unknown>>;
}

/** A kernel on a new store that runs no bodies and no timers, with access to its tables. */
export async function kernelFixture(options: KernelOptions = {}): Promise<KernelFixture> {
  const path = options.store ?? (await newStoreWithTables());
  const kernel = await openKernel({
    store: path,
    node: { executor: false },
    durability: 'normal',
    images: [worker],
    ...options,
  });
  return toFixture(kernel, path);
}

/** A fixture whose kernel runs timers and bodies, for deadlines and graces. */
export function timedKernelFixture(options: KernelOptions = {}): Promise<KernelFixture> {
  return kernelFixture({ node: { executor: true }, ...options });
}

function toFixture(kernel: Kernel, path: string): KernelFixture {
  const tables = openRawTables(path);
  return {
    kernel,
    path,
    async refused(call) {
      const before = await readContents(tables);
      const answer = await refusal(call());
      expect(await readContents(tables)).toEqual(before);
      return answer;
    },
    edit: async (pid, columns) => expect(await tables.update('processes', { pid }, columns)).toBe(1),
    row: async (pid) => (await tables.find('processes', { pid })) as RawRow,
  };
}

const tableNames = [
  'processes',
  'process_tags',
  'registrations',
  'environments',
  'reaped',
  'user_signals',
  'signal_receipts',
  'accounts',
  'reservations',
  'capabilities',
  'rules',
  'approvals',
  'objects',
  'object_versions',
  'payloads',
  'views',
  'view_entries',
  'overlays',
  'links',
  'run_entries',
  'process_logs',
  'messages',
];
const refusalEvents = new Set(['audit.checkpointed', 'budget.exceeded', 'capability.denied']);

async function readContents(tables: RawTables): Promise<Record<string, unknown[]>> {
  const contents: Record<string, unknown[]> = {};
  for (const table of tableNames) contents[table] = await tables.rows(table);
  const events = (await tables.rows<{ type: string }>('events')).filter(({ type }) => !refusalEvents.has(type));
  return { ...contents, events };
}

/** A clock that stands still until it is advanced. */
export function manualClock(now = Date.UTC(2030, 0, 1)): { now(): number; advance(ms: number): void } {
  let time = now;
  return {
    now: () => time,
    advance: (ms) => {
      time += ms;
    },
  };
}

/** The types of the events after `seq`, each with the process that it is about. */
export async function eventsAfter(kernel: Kernel, seq: number): Promise<[string, Pid | undefined][]> {
  const { items } = await kernel.events.list({ after: String(seq), limit: 1_000 });
  return items.map(({ type, pid }) => [type, pid]);
}

export async function lastSeq(kernel: Kernel): Promise<number> {
  const { items } = await kernel.events.list({ limit: 10_000 });
  return items.at(-1)?.seq ?? 0;
}

/** Waits for the end of `pid` and answers with the kind of its outcome. */
export async function outcomeOf(kernel: Kernel, pid: Pid): Promise<string> {
  return (await kernel.processes.result(pid)).outcome.kind;
}
