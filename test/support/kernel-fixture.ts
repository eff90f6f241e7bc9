import Database from 'better-sqlite3';
import { expect, onTestFinished } from 'vitest';
import { defineImage, type Kernel, type KernelOptions, type Pid } from '../../src/index.js';
import { newStore, openKernel, refusal } from './kernel.js';

/** An image with a body; on a kernel that runs no bodies its processes stay `runnable`. */
export const worker = defineImage({ name: 'worker', run: async () => null });

export interface KernelFixture {
  readonly kernel: Kernel;
  readonly path: string;
  /** The refusal of `call`, which must have left everything as it was but for what tells of the refusal. */
  refused(call: () => Promise<unknown>): Promise<{ code: string; facts: unknown }>;
  /** Writes into a process row, as only another node could. */
  edit(pid: Pid, columns: Record<string, string | number | null>): void;
  row(pid: Pid): Record<string, unknown>;
}

/** A kernel on a new file that runs no bodies and no timers, and what a test needs to look behind it. */
export async function kernelFixture(options: KernelOptions = {}): Promise<KernelFixture> {
  const path = options.store ?? newStore();
  const kernel = await openKernel({
    store: path,
    node: { executor: false },
    durability: 'normal',
    images: [worker],
    ...options,
  });
  return toFixture(kernel, path);
}

/** The same with timers, for deadlines and graces. */
export function timedKernelFixture(options: KernelOptions = {}): Promise<KernelFixture> {
  return kernelFixture({ node: { executor: true }, ...options });
}

function toFixture(kernel: Kernel, path: string): KernelFixture {
  const db = new Database(path);
  db.pragma('busy_timeout = 5000');
  onTestFinished(() => void db.close());
  return {
    kernel,
    path,
    async refused(call) {
      const before = readContents(db);
      const answer = await refusal(call());
      expect(readContents(db)).toEqual(before);
      return answer;
    },
    edit(pid, columns) {
      const set = Object.keys(columns).map((name) => `${name} = @${name}`);
      const { changes } = db
        .prepare(`UPDATE processes SET ${set.join(', ')} WHERE pid = @pid`)
        .run({ ...columns, pid });
      expect(changes).toBe(1);
    },
    row(pid) {
      return db.prepare('SELECT * FROM processes WHERE pid = ?').get(pid) as Record<string, unknown>;
    },
  };
}

const tables = [
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
  'messages',
];

function readContents(db: Database.Database): Record<string, unknown[]> {
  const all = tables.map((table) => [table, db.prepare(`SELECT * FROM ${table}`).all()]);
  const events = db
    .prepare("SELECT * FROM events WHERE type NOT IN ('audit.checkpointed', 'budget.exceeded', 'capability.denied')")
    .all();
  return { ...Object.fromEntries(all), events };
}

/** A clock that stands until it is moved. */
export function manualClock(now = Date.UTC(2030, 0, 1)): { now(): number; advance(ms: number): void } {
  let time = now;
  return {
    now: () => time,
    advance: (ms) => {
      time += ms;
    },
  };
}

/** The types of the events after `seq`, with the process each tells of. */
export async function eventsAfter(kernel: Kernel, seq: number): Promise<[string, Pid | undefined][]> {
  const { items } = await kernel.events.list({ after: String(seq), limit: 1_000 });
  return items.map(({ type, pid }) => [type, pid]);
}

export async function lastSeq(kernel: Kernel): Promise<number> {
  const { items } = await kernel.events.list({ limit: 10_000 });
  return items.at(-1)?.seq ?? 0;
}

/** Resolves when `pid` has ended, however it does. */
export async function outcomeOf(kernel: Kernel, pid: Pid): Promise<string> {
  return (await kernel.processes.result(pid)).outcome.kind;
}
